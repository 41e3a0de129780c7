"""Whether contenders with the same weights give the same outputs, by the digests of both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from assay.analysis.unlike import Group, unlike
from assay.findings import Unlikeness
from assay.records import Result

# Of the largest output. float32's is what the tests of every workload hold; the others are about
# 25 roundings of their products (2**-11 and 2**-8), which a deep network adds up.
TOLERANCE = {"float32": 1e-4, "tf32": 1e-2, "float16": 1e-2, "bfloat16": 1e-1}
TOLERANCE |= {"pure-bfloat16": 1e-1}
SAME_WEIGHTS = 1e-3  # of their norm: bfloat16 weights are rounded, others' norms differ far more


def disagreeing(group: Group) -> Iterator[Unlikeness]:
    """Each one against the contender that most others agree with."""
    told = [result for result in group.results if "outputs" in result.facts]
    for result in told:
        if not math.isfinite(_number(result, "outputs_norm")):
            text = f"outputs of {group.names([result])} are not finite"
            yield unlike(group, "outputs", text)
    finite = [result for result in told if math.isfinite(_number(result, "outputs_norm"))]
    if len(finite) < 2:
        return
    common = max(finite, key=lambda one: sum(_agree(one, other) for other in finite))
    for result in finite:
        if not _agree(result, common):
            yield _disagreement(group, result, common)


def _disagreement(group: Group, result: Result, common: Result) -> Unlikeness:
    here, there = group.names([result]), group.names([common])
    if not _same_weights(result, common):
        text = f"{here} starts from other weights than {there}, so outputs cannot be compared"
        return unlike(group, "weights", text, unfair=False)
    text = (
        f"outputs of {here} differ from those of {there} by {_distance(result, common):.2g} of the "
        f"largest, where {_tolerance(result, common):g} is allowed"
    )
    return unlike(group, "outputs", text)


def _agree(one: Result, other: Result) -> bool:
    return _same_weights(one, other) and _distance(one, other) <= _tolerance(one, other)


def _same_weights(one: Result, other: Result) -> bool:
    """Only equal weights must give equal outputs; models of one's own may start anywhere."""
    mine, theirs = _number(one, "weights_norm"), _number(other, "weights_norm")
    return abs(mine - theirs) <= SAME_WEIGHTS * max(mine, theirs)


def _distance(one: Result, other: Result) -> float:
    """The greatest difference of two outputs, or of the norms, as a share of the largest."""
    mine, theirs = _values(one), _values(other)
    if len(mine) != len(theirs):
        return math.inf
    largest = max(_number(one, "outputs_largest"), _number(other, "outputs_largest"), 1e-30)
    values = max((abs(a - b) for a, b in zip(mine, theirs, strict=True)), default=0.0) / largest
    norms = [_number(one, "outputs_norm"), _number(other, "outputs_norm")]
    return max(values, abs(norms[0] - norms[1]) / max(*norms, 1e-30))


def _tolerance(one: Result, other: Result) -> float:
    """That of the coarser of both."""
    asked = (str(result.case.options.get("precision", "float32")) for result in (one, other))
    return max(TOLERANCE.get(precision, TOLERANCE["float32"]) for precision in asked)


def _values(result: Result) -> Sequence[float]:
    return [float(value) for value in str(result.facts["outputs"]).split()]


def _number(result: Result, fact: str) -> float:
    return float(result.facts.get(fact, 0.0))
