"""Whether contenders compute the same: their outputs, whole or by digest, against a reference.

The reference is the most precise of them: a coarse one may be wrong within what its precision
allows, and never makes a finer one wrong.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from assay.core.findings import Unlikeness
from assay.core.messages import OutputValues
from assay.core.records import Case, Result, Value

T = TypeVar("T")

# Largest difference of an output, as a share of the largest output; the most precise first.
# float32's is what the tests of every workload hold; the others are about 25 roundings of their
# products (2**-11 and 2**-8), which a deep network adds up.
TOLERANCE = {"float64": 1e-4, "float32": 1e-4, "tf32": 1e-2, "float16": 1e-2, "bfloat16": 1e-1}
TOLERANCE |= {"pure-bfloat16": 1e-1}
SAME_WEIGHTS = 1e-3  # of their norm: bfloat16 weights are rounded, others' norms differ far more


def tolerance(*cases: Case) -> float:
    """What outputs of these cases may differ by: the coarsest precision decides."""
    return max(TOLERANCE[_precision(case)] for case in cases)


def outputs_differ(one: OutputValues, other: OutputValues, allowed: float) -> str:
    """How far two outputs are apart, in words, where that is too far; else ""."""
    import numpy as np  # here: digests are compared without it, wherever results are shown

    if one.shape != other.shape:
        return f"the outputs have the shapes {one.shape} and {other.shape}"
    first, second = np.asarray(one.values), np.asarray(other.values)
    if not np.isfinite(first).all() or not np.isfinite(second).all():
        return "an output is not finite"
    scale = max(float(np.abs(first).max(initial=0.0)), float(np.abs(second).max(initial=0.0)))
    distance = float(np.abs(first - second).max(initial=0.0)) / (scale or 1.0)
    if distance <= allowed:
        return ""
    return f"outputs differ by {distance:.2g} of the largest, more than the {allowed:g} allowed"


def wrong_ones(outputs: Mapping[str, OutputValues], cases: Mapping[str, Case]) -> dict[str, str]:
    """Whose outputs differ from the reference among those with the same parameters, and how."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in outputs:
        groups[f"{outputs[name].shape} {sorted(cases[name].params.items())}"].append(name)
    return {
        name: wrong
        for names in groups.values()
        for reference, of in [_reference(names, outputs, cases)]
        for name in names
        if (wrong := outputs_differ(reference, outputs[name], tolerance(cases[name], of)))
    }


def disagreeing(group: Group) -> Iterator[Unlikeness]:
    """Each one against the reference, by the digests that results keep."""
    answer = [result for result in group.results if "outputs" in result.facts]
    for result in answer:
        if not math.isfinite(_number(result, "outputs_norm")):
            text = f"outputs of {group.names([result])} are not finite"
            yield unlike(group, "outputs", text)
    finite = [result for result in answer if math.isfinite(_number(result, "outputs_norm"))]
    if len(finite) < 2:
        return
    finest = _finest(finite, lambda result: result.case)
    reference = max(finest, key=lambda one: sum(_agree(one, other) for other in finest))
    for result in finite:
        if not _agree(result, reference):
            yield _disagreement(group, result, reference)


def _reference(
    names: Sequence[str], outputs: Mapping[str, OutputValues], cases: Mapping[str, Case]
) -> tuple[OutputValues, Case]:
    """Of three or more that are the most precise the middle of each output; of two, the first."""
    import numpy as np

    finest = _finest(names, lambda name: cases[name])
    first = finest[0]
    if len(finest) < 3:
        return outputs[first], cases[first]
    middle = np.median([outputs[name].values for name in finest], axis=0)
    return OutputValues(shape=outputs[first].shape, values=tuple(middle.tolist())), cases[first]


def _finest(contenders: Sequence[T], case: Callable[[T], Case]) -> list[T]:
    order = list(TOLERANCE)
    ranks = [order.index(_precision(case(contender))) for contender in contenders]
    return [one for one, rank in zip(contenders, ranks, strict=True) if rank == min(ranks)]


def _precision(case: Case) -> str:
    chosen = str(case.options.get("precision", "float32"))
    return chosen if chosen in TOLERANCE else "float32"


def _disagreement(group: Group, result: Result, reference: Result) -> Unlikeness:
    here, there = group.names([result]), group.names([reference])
    if _other_weights(result, reference):
        text = f"{here} starts from other weights than {there}, so outputs cannot be compared"
        return unlike(group, "weights", text, unfair=False)
    text = (
        f"outputs of {here} differ from those of {there} by {_distance(result, reference):.2g} of "
        f"the largest, where {tolerance(result.case, reference.case):g} is allowed"
    )
    return unlike(group, "outputs", text)


def _agree(one: Result, other: Result) -> bool:
    near = _distance(one, other) <= tolerance(one.case, other.case)
    return near and not _other_weights(one, other)


def _other_weights(one: Result, other: Result) -> bool:
    """Only equal weights must give equal outputs; models of one's own may start anywhere.

    A session that cannot show its weights is judged by its outputs alone.
    """
    if "weights_norm" not in one.facts or "weights_norm" not in other.facts:
        return False
    mine, theirs = _number(one, "weights_norm"), _number(other, "weights_norm")
    return abs(mine - theirs) > SAME_WEIGHTS * max(mine, theirs)


def _distance(one: Result, other: Result) -> float:
    """The greatest difference of two outputs, or of the norms, as a share of the largest."""
    mine, theirs = _values(one), _values(other)
    if len(mine) != len(theirs):
        return math.inf
    largest = max(_number(one, "outputs_largest"), _number(other, "outputs_largest"), 1e-30)
    values = max((abs(a - b) for a, b in zip(mine, theirs, strict=True)), default=0.0) / largest
    norms = [_number(one, "outputs_norm"), _number(other, "outputs_norm")]
    return max(values, abs(norms[0] - norms[1]) / max(*norms, 1e-30))


def _values(result: Result) -> Sequence[float]:
    try:
        return [float(value) for value in str(result.facts["outputs"]).split()]
    except ValueError:  # a damaged file; it agrees with nobody
        return [math.nan]


def _number(result: Result, fact: str) -> float:
    try:
        return float(result.facts.get(fact, 0.0))
    except ValueError:
        return math.nan


MOST_NAMES = 4  # contenders that are named one by one


class Group(msgspec.Struct, frozen=True):
    """Contenders that can be compared."""

    workload: str  # with its parameters, as in the key of a case
    results: tuple[Result, ...]

    def names(self, some: Sequence[Result]) -> str:
        """By backend and options alone: the workload is the same for all."""
        names = list(dict.fromkeys(result.case.key.rpartition("@")[2] for result in some))
        if len(names) > MOST_NAMES:
            return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} more"
        return ", ".join(names)


def grouped(results: Iterable[Result]) -> list[Group]:
    """By workload and all its parameters; a result that never opened has nothing to compare."""
    found: dict[Hashable, list[Result]] = defaultdict(list)
    for result in results:
        if result.facts:
            found[(result.case.workload, *sorted(result.case.params.items()))].append(result)
    return [Group(some[0].case.key.rpartition("@")[0], tuple(some)) for some in found.values()]


def by_value(
    results: Iterable[Result], value: Callable[[Result], Hashable]
) -> list[tuple[Result, ...]]:
    """Results with equal values together, the most frequent value first."""
    found: dict[Hashable, list[Result]] = defaultdict(list)
    for result in results:
        found[value(result)].append(result)
    return sorted(map(tuple, found.values()), key=lambda same: -len(same))


def unlike(group: Group, what: str, text: str, unfair: bool = True) -> Unlikeness:
    return Unlikeness(workload=group.workload, what=what, text=text, unfair=unfair)


def said(value: Value | None) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,}" if isinstance(value, int) else str(value)
