"""Doubts about the work of steps, from what the worker checked after the samples."""

from __future__ import annotations

from collections.abc import Callable

from assay.core.findings import Doubt
from assay.core.records import Result
from assay.core.units import human

SHORT_TYPES = frozenset({"bfloat16", "float16"})
EXACT = frozenset({"float32", "tf32"})  # precisions without products of shorter types

# fact of the worker → code, sentence and remedy
_SIGNS: dict[str, tuple[str, str, str]] = {
    "outputs_repeat": (
        "outputs-repeat",
        "steps returned the same outputs for other inputs: they are cached or constant",
        "Compute the outputs in every step; measure a model that depends on its inputs.",
    ),
    "outputs_late": (
        "outputs-late",
        "a step returned the outputs of the step before",
        "Return the outputs of the step's own inputs.",
    ),
    "inputs_changed": (
        "inputs-changed",
        "a step changed its inputs in place, so that later steps had other ones",
        "Copy the inputs before they are changed.",
    ),
    "empty_step": (
        "empty-step",
        "a step took hardly longer than an empty call: its result is cached or constant",
        "Compute the result in every call.",
    ),
}


def signs(result: Result) -> Doubt | None:
    """The first sign that is true."""
    for fact, (code, text, remedy) in _SIGNS.items():
        if result.facts.get(fact) is True:
            return Doubt(code=code, text=text, remedy=remedy)
    return None


def skipped_work(result: Result) -> Doubt | None:
    ratio = float(result.facts.get("fresh_step_ratio", 0.0))
    if not ratio:
        return None
    return Doubt(
        code="repeats-skipped",
        text=f"a step with inputs that it had not seen took {ratio:.3g} times as long: work is "
        "skipped when inputs repeat",
        remedy="Measure with --inputs fresh, or without the cache.",
    )


def same_object(result: Result) -> Doubt | None:
    kind = result.facts.get("same_object")
    if not kind:
        return None
    return Doubt(
        code="same-object",
        text=f"the callable returned one {kind} again and again: the result is cached or constant",
        remedy="Compute the result in every call.",
    )


def first_differs(result: Result) -> Doubt | None:
    difference = float(result.facts.get("first_output_difference", 0.0))
    if not difference:
        return None
    return Doubt(
        code="first-differs",
        text=f"the outputs of later steps differ from those of the first by {difference:.1%}: "
        "later steps compute something else",
        remedy="Look for a precision, a batch or layers that change after the first steps.",
    )


def work_left(result: Result) -> Doubt | None:
    seconds = float(result.facts.get("left_running", 0.0))
    if not seconds:
        return None
    return Doubt(
        code="work-left",
        text=f"threads worked on after the step had ended, for {human(seconds, 's')} or longer: "
        "the step takes longer than this",
        remedy="Wait for the threads in the step.",
    )


def other_settings(result: Result) -> Doubt | None:
    text = result.facts.get("settings_changed")
    if not text:
        return None
    return Doubt(
        code="settings-changed",
        text=f"the model changed settings while it was measured: {text}",
        remedy="Choose them with options, such as --precision.",
    )


def lower_precision(result: Result) -> Doubt | None:
    """Products in shorter types than the case's precision."""
    precision = str(result.case.options.get("precision", ""))
    short = SHORT_TYPES & set(str(result.facts.get("product_dtypes", "")).split())
    if precision not in EXACT or not short:
        return None
    return Doubt(
        code="lower-precision",
        text=f"products were computed in {', '.join(sorted(short))}, and precision is {precision}",
        remedy="The model converts its values itself; name the precision in a comparison.",
    )


def clock(result: Result) -> Doubt | None:
    share = float(result.facts.get("clock_share", 0.0))
    if not share:
        return None
    return Doubt(
        code="clock",
        text=f"the process reported {share:.0%} of the time that passed while it took samples: its "
        "clock or its samples were changed",
        remedy="Look for code that replaces a timer.",
    )


IMPLAUSIBLE_DOUBTS: tuple[Callable[[Result], Doubt | None], ...] = (
    signs,
    same_object,
    skipped_work,
    first_differs,
    work_left,
    other_settings,
    lower_precision,
    clock,
)
