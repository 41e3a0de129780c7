"""A bisection → a table of its steps, and the suspected revision."""

from __future__ import annotations

import math

import msgspec

from assay.commands.bisect.api import Bisection, BisectStep
from assay.core.findings import Output, Table
from assay.core.units import percent_change, plural, span
from assay.stats.sequential import LEVEL_NOTE


def output(bisection: Bisection) -> Output:
    rows = tuple(
        _row(step, bisection) for step in sorted(bisection.tried, key=lambda step: step.place)
    )
    return Output(
        tables=(
            Table(
                title=headline(bisection),
                columns=(bisection.what, "number", "change", "98 % interval", "verdict", "why"),
                rows=rows,
                numeric=frozenset({"number", "change", "98 % interval"}),
                spare=("number",),
                notes=tuple(_notes(bisection)),
            ),
        ),
        document=msgspec.to_builtins(bisection),
    )


def headline(bisection: Bisection) -> str:
    if not bisection.suspects:
        return bisection.ended or (
            f"{plural(len(bisection.names) - 1, 'revision')}, nothing is known yet"
        )
    names = " or ".join(short(name, bisection) for name in bisection.suspects)
    sure = f"with a probability of {100 * bisection.chance:.1f} %"
    what = (
        "the first changed"
        if bisection.chance >= bisection.confidence
        else "most likely the first changed"
    )
    return f"{names} is {what} {bisection.what}, {sure}"


def step_line(step: BisectStep, bisection: Bisection) -> str:
    """A progress line."""
    name = short(step.name, bisection)
    if step.verdict == "skipped":
        return f"{name}: skipped, {step.text}"
    return f"{name}: {percent_change(step.ratio)}, {step.verdict}; {headline(bisection)}"


def short(name: str, bisection: Bisection) -> str:
    return name[:12] if bisection.what == "commit" else f"{bisection.package}=={name}"


def _row(step: BisectStep, bisection: Bisection) -> tuple[str, ...]:
    known = math.isfinite(step.ratio)
    return (
        short(step.name, bisection),
        f"{step.place} of {len(bisection.names) - 1}",
        percent_change(step.ratio) if known else "",
        span(step.low, step.high, percent_change) if known else "",
        step.verdict,
        step.text,
    )


def _notes(bisection: Bisection) -> list[str]:
    notes = [bisection.ended] if bisection.ended else []
    if len(bisection.suspects) > 1:
        notes.append(
            "all but the last of these could not be measured, so they cannot be distinguished"
        )
    if bisection.suspects and bisection.what == "commit":
        notes.append(f"to see it: git show {bisection.suspects[-1][:12]}")
    return [*notes, *([LEVEL_NOTE] if bisection.tried else [])]
