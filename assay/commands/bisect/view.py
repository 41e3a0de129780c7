"""A bisection → a table of what was tried, and the revision that it names."""

from __future__ import annotations

import math

import msgspec

from assay.commands.bisect.api import Bisection, Tried
from assay.core.findings import Output, Table
from assay.core.units import change


def output(found: Bisection) -> Output:
    rows = tuple(_row(one, found) for one in sorted(found.tried, key=lambda one: one.place))
    return Output(
        tables=(
            Table(
                title=headline(found),
                columns=(found.what, "number", "change", "98 % interval", "verdict", "why"),
                rows=rows,
                numeric=frozenset({"number", "change", "98 % interval"}),
                notes=tuple(_notes(found)),
            ),
        ),
        document=msgspec.to_builtins(found),
    )


def headline(found: Bisection) -> str:
    if not found.suspects:
        return found.ended or f"{len(found.names) - 1} revisions, nothing is known yet"
    names = " or ".join(short(name, found) for name in found.suspects)
    sure = f"with a probability of {100 * found.chance:.1f} %"
    what = (
        "the first changed" if found.chance >= found.confidence else "most likely the first changed"
    )
    return f"{names} is {what} {found.what}, {sure}"


def tried_line(one: Tried, found: Bisection) -> str:
    """While it goes on."""
    name = short(one.name, found)
    if one.verdict == "skipped":
        return f"{name}: skipped, {one.text}"
    return f"{name}: {change(one.ratio)}, {one.verdict}; {headline(found)}"


def short(name: str, found: Bisection) -> str:
    return name[:12] if found.what == "commit" else f"{found.package}=={name}"


def _row(one: Tried, found: Bisection) -> tuple[str, ...]:
    known = math.isfinite(one.ratio)
    return (
        short(one.name, found),
        f"{one.place} of {len(found.names) - 1}",
        change(one.ratio) if known else "",
        f"{change(one.low)} – {change(one.high)}" if known else "",
        one.verdict,
        one.text,
    )


def _notes(found: Bisection) -> list[str]:
    notes = [found.ended] if found.ended else []
    if len(found.suspects) > 1:
        notes.append(
            "all but the last of these could not be measured, so they cannot be told apart"
        )
    if found.suspects and found.what == "commit":
        notes.append(f"to see it: git show {found.suspects[-1][:12]}")
    return notes
