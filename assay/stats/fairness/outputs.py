"""Compare outputs of contenders, complete or by fingerprint, with a reference.

The reference is the most precise contender, so that errors of lower precision never make a more
precise one wrong.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from assay.core.findings import Mismatch
from assay.core.messages import OutputValues
from assay.core.records import Case, Result, Value

T = TypeVar("T")

# Largest difference relative to the largest output; most precise first. float32: as in the tests of
# every workload; others: about 25 roundings of their products (2**-11 and 2**-8) in a deep network.
TOLERANCE = {"float64": 1e-4, "float32": 1e-4, "tf32": 1e-2, "float16": 1e-2, "bfloat16": 1e-1}
TOLERANCE |= {"pure-bfloat16": 1e-1}
SAME_WEIGHTS = 1e-3  # relative, of norms: covers rounding to bfloat16


def tolerance(*cases: Case) -> float:
    """Tolerance of outputs of these cases: that of the lowest precision."""
    return max(TOLERANCE[_precision(case)] for case in cases)


def outputs_differ(first_outputs: OutputValues, second_outputs: OutputValues, limit: float) -> str:
    """Why two outputs differ too much, or ""."""
    import numpy as np  # late: fingerprints are compared without numpy

    if first_outputs.shape != second_outputs.shape:
        return f"the outputs have the shapes {first_outputs.shape} and {second_outputs.shape}"
    first, second = np.asarray(first_outputs.values), np.asarray(second_outputs.values)
    if not np.isfinite(first).all() or not np.isfinite(second).all():
        return "an output is not finite"
    scale = max(float(np.abs(first).max(initial=0.0)), float(np.abs(second).max(initial=0.0)))
    distance = float(np.abs(first - second).max(initial=0.0)) / (scale or 1.0)
    if distance <= limit:
        return ""
    return f"outputs differ by {distance:.2g} of the largest, more than the {limit:g} allowed"


def wrong_outputs(outputs: Mapping[str, OutputValues], cases: Mapping[str, Case]) -> dict[str, str]:
    """Contenders with outputs that differ from the reference of equal parameters, and how."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in outputs:
        groups[f"{outputs[name].shape} {sorted(cases[name].params.items())}"].append(name)
    return {
        name: wrong
        for names in groups.values()
        for reference, reference_case in [_reference(names, outputs, cases)]
        for name in names
        if (
            wrong := outputs_differ(
                reference, outputs[name], tolerance(cases[name], reference_case)
            )
        )
    }


def output_mismatches(group: Group) -> Iterator[Mismatch]:
    """Compare stored fingerprints with the reference."""
    results = [result for result in group.results if "outputs" in result.facts]
    finite = [result for result in results if math.isfinite(_number(result, "outputs_norm"))]
    for result in results:
        if result not in finite:
            text = f"outputs of {group.names([result])} are not finite"
            wrong = {result.id: math.inf} if finite else {}
            yield make_mismatch(group, "outputs", text, wrong=wrong)
    if len(finite) < 2:
        return
    finest = _most_precise(finite, lambda result: result.case)
    votes = [sum(_agree(candidate, other) for other in finest) for candidate in finest]
    reference = finest[votes.index(max(votes))]
    undecided = any(
        votes[number] == max(votes) and not _agree(candidate, reference)
        for number, candidate in enumerate(finest)
    )
    for result in finite:
        if not _agree(result, reference):
            yield _disagreement(group, result, reference, undecided)


def _reference(
    names: Sequence[str], outputs: Mapping[str, OutputValues], cases: Mapping[str, Case]
) -> tuple[OutputValues, Case]:
    """Median of the outputs of three or more most precise contenders; otherwise the first."""
    import numpy as np

    finest = _most_precise(names, lambda name: cases[name])
    first = finest[0]
    if len(finest) < 3:
        return outputs[first], cases[first]
    middle = np.median([outputs[name].values for name in finest], axis=0)
    return OutputValues(shape=outputs[first].shape, values=tuple(middle.tolist())), cases[first]


def _most_precise(contenders: Sequence[T], case: Callable[[T], Case]) -> list[T]:
    order = list(TOLERANCE)
    ranks = [order.index(_precision(case(contender))) for contender in contenders]
    return [
        contender for contender, rank in zip(contenders, ranks, strict=True) if rank == min(ranks)
    ]


def _precision(case: Case) -> str:
    chosen = str(case.options.get("precision", "float32"))
    return chosen if chosen in TOLERANCE else "float32"


def _disagreement(
    group: Group, result: Result, reference: Result, undecided: bool = False
) -> Mismatch:
    """`undecided`: as many agree with another result, so that either may be wrong."""
    names, expected = group.names([result]), group.names([reference])
    if _other_weights(result, reference):
        text = f"{names} starts from other weights than {expected}, so outputs cannot be compared"
        return make_mismatch(group, "weights", text, unfair=False)
    distance = _distance(result, reference)
    text = (
        f"outputs of {names} differ from those of {expected} by {distance:.2g} of "
        f"the largest, where {tolerance(result.case, reference.case):g} is allowed"
    )
    wrong = [result.id, *([reference.id] if undecided else [])]
    return make_mismatch(group, "outputs", text, wrong=dict.fromkeys(wrong, distance))


def _agree(first: Result, second: Result) -> bool:
    near = _distance(first, second) <= tolerance(first.case, second.case)
    return near and not _other_weights(first, second)


def _other_weights(first: Result, second: Result) -> bool:
    """Whether weights differ: outputs must be equal only for equal weights.

    Sessions that do not expose weights are compared by outputs only.
    """
    if "weights_norm" not in first.facts or "weights_norm" not in second.facts:
        return False
    first_norm, second_norm = _number(first, "weights_norm"), _number(second, "weights_norm")
    return abs(first_norm - second_norm) > SAME_WEIGHTS * max(first_norm, second_norm)


def _distance(first: Result, second: Result) -> float:
    """Largest difference of outputs, or of norms, relative to the largest output."""
    first_values, second_values = _values(first), _values(second)
    if len(first_values) != len(second_values):
        return math.inf
    largest = max(_number(first, "outputs_largest"), _number(second, "outputs_largest"), 1e-30)
    values = (
        max((abs(a - b) for a, b in zip(first_values, second_values, strict=True)), default=0.0)
        / largest
    )
    norms = [_number(first, "outputs_norm"), _number(second, "outputs_norm")]
    return max(values, abs(norms[0] - norms[1]) / max(*norms, 1e-30))


def _values(result: Result) -> Sequence[float]:
    try:
        return [float(value) for value in str(result.facts["outputs"]).split()]
    except ValueError:  # a damaged file
        return [math.nan]


def _number(result: Result, fact: str) -> float:
    try:
        return float(result.facts.get(fact, 0.0))
    except ValueError:
        return math.nan


MAX_NAMES = 4  # contenders that are listed by name


class Group(msgspec.Struct, frozen=True):
    """Contenders that can be compared."""

    workload: str  # with its parameters, as in the key of a case
    results: tuple[Result, ...]

    def names(self, results: Sequence[Result]) -> str:
        """Backends and options: the workload is the same for all."""
        names = list(dict.fromkeys(result.case.key.rpartition("@")[2] for result in results))
        if len(names) > MAX_NAMES:
            return f"{', '.join(names[:MAX_NAMES])} and {len(names) - MAX_NAMES} more"
        return ", ".join(names)


def group_results(results: Iterable[Result]) -> list[Group]:
    """Group by workload and parameters; results without facts never opened."""
    groups: dict[Hashable, list[Result]] = defaultdict(list)
    for result in results:
        if result.facts:
            groups[(result.case.workload, *sorted(result.case.params.items()))].append(result)
    return [
        Group(members[0].case.key.rpartition("@")[0], tuple(members)) for members in groups.values()
    ]


def group_by_value(
    results: Iterable[Result], value: Callable[[Result], Hashable]
) -> list[tuple[Result, ...]]:
    """Group results by value, the most frequent value first."""
    groups: dict[Hashable, list[Result]] = defaultdict(list)
    for result in results:
        groups[value(result)].append(result)
    return sorted(map(tuple, groups.values()), key=lambda members: -len(members))


def make_mismatch(
    group: Group,
    what: str,
    text: str,
    unfair: bool = True,
    wrong: Mapping[str, float] | None = None,
) -> Mismatch:
    return Mismatch(workload=group.workload, what=what, text=text, unfair=unfair, wrong=wrong or {})


def format_value(value: Value | None) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else str(value)
