"""Integers and booleans of a file: which values are, of what type, and how large they may be.

A graph computes in float32, which holds integers below 2**24 exactly. An operation whose integers
may be larger, or leave their type, is refused. Larger inputs are rounded once: they may be moved,
compared with smaller constants and used as indices, where an index beyond 2**24 is out of range
whatever it is rounded to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from assay.native.onnx.model import DTYPES, OnnxOp, type_name
from assay.native.onnx.read import Importing, refusal

EXACT = 2**24
BOOL, FLOAT, INT64 = 9, 1, 7  # of TensorProto.DataType


class Integers(msgspec.Struct, frozen=True):
    """The type of a value, and bounds of its numbers."""

    type: int
    low: int
    high: int

    @property
    def exact(self) -> bool:
        return self.low > -EXACT and self.high < EXACT


def integers_of(kind: int) -> Integers | None:
    """All numbers of a type; None for floating point."""
    dtype = np.dtype(DTYPES[kind])
    if kind == BOOL:
        return Integers(BOOL, 0, 1)
    if not np.issubdtype(dtype, np.integer):
        return None
    return Integers(kind, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def note_integers(model: Importing, node: OnnxOp) -> None:
    """Remember which outputs of a node are integers; refuse what would not be exact."""
    operands = [operand(model, name) for name in node.inputs if name]
    if node.kind in _RESULTS:
        result = _RESULTS[node.kind](model, node, operands)
    elif not any(operands[number] for number in _read_values(model, node)):
        return
    elif node.kind in _BOUNDS:
        result = _bounds(node, operands, model)
    else:
        raise refusal(node, "it computes with integers, which this operator does not do here")
    if result:
        model.integers |= dict.fromkeys(node.outputs, result)


def type_of(model: Importing, name: str) -> int:
    """Of TensorProto.DataType."""
    if name in model.values:
        return model.integers[name].type if name in model.integers else FLOAT
    dtype = model.known[name].dtype
    return next(kind for kind, text in DTYPES.items() if np.dtype(text) == dtype)


def operand(model: Importing, name: str) -> Integers | None:
    """A computed or known input; None for floating point."""
    if name in model.values:
        return model.integers.get(name)
    values = model.known[name]
    if not np.issubdtype(values.dtype, np.integer) and values.dtype != bool:
        return None
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    return Integers(type_of(model, name), low, high)


def _read_values(model: Importing, node: OnnxOp) -> list[int]:
    """Which inputs are computed, without those that are not given."""
    names = [name for name in node.inputs if name]
    return [number for number, name in enumerate(names) if name in model.values]


Operands = Sequence[Integers | None]


def _truth(model: Importing, node: OnnxOp, operands: Operands) -> Integers:
    """Of a comparison: rounding keeps the order, so one side may be rounded."""
    if all(operand and not operand.exact for operand in operands):
        raise refusal(node, f"both sides are integers that may exceed {EXACT}")
    return Integers(BOOL, 0, 1)


def _first_operand(model: Importing, node: OnnxOp, operands: Operands) -> Integers | None:
    return operands[0]


def _position(model: Importing, node: OnnxOp, operands: Operands) -> Integers:
    """Rounding may make two integers equal."""
    operand = operands[0]
    if operand and not operand.exact:
        raise refusal(node, f"its integers may exceed {EXACT}, up to which float32 is exact")
    return Integers(INT64, 0, max(model.shape(model.values[node.inputs[0]]), default=1))


def _cast(model: Importing, node: OnnxOp, operands: Operands) -> Integers | None:
    operand = operands[0]
    to = node.attributes["to"]
    if to == FLOAT:
        return None
    target = integers_of(to) if to in DTYPES else None
    if target is None or (operand is None and to != BOOL):
        source = type_name(operand.type) if operand else "float32"
        raise refusal(node, f"it casts computed {source} to {type_name(to)}")
    if to == BOOL:
        return target
    assert operand
    if not (target.low <= operand.low and operand.high <= target.high) and operand.exact:
        raise refusal(node, f"its integers may exceed {type_name(to)}")
    if not operand.exact and not _at_least(target, operand):
        raise refusal(node, f"its integers may exceed {type_name(to)}")
    return Integers(to, operand.low, operand.high)


def _at_least(wider: Integers, narrower: Integers) -> bool:
    return wider.low <= narrower.low and narrower.high <= wider.high


def _union(model: Importing, node: OnnxOp, operands: Operands) -> Integers | None:
    some = [operand for operand in operands[node.kind == "Where" :] if operand]
    if not some:
        return None
    return Integers(some[0].type, min(o.low for o in some), max(o.high for o in some))


Bounds = tuple[int, int]


def _corners(function: Callable[[int, int], int]) -> Callable[[Bounds, Bounds], Bounds]:
    def bounds(first: Bounds, second: Bounds) -> Bounds:
        corners = [function(a, b) for a in first for b in second]
        return min(corners), max(corners)

    return bounds


_ADD, _MULTIPLY = _corners(lambda a, b: a + b), _corners(lambda a, b: a * b)
_BOUNDS: dict[str, Callable[[Bounds, Bounds], Bounds]] = {
    "Add": _ADD,
    "Sum": _ADD,
    "Sub": _corners(lambda a, b: a - b),
    "Mul": _MULTIPLY,
    "Max": _corners(max),
    "Min": _corners(min),
    "And": _corners(min),
    "Or": _corners(max),
    "Xor": lambda first, second: (0, 1),
    "Not": lambda first, second: (0, 1),
    "Neg": lambda first, second: (-first[1], -first[0]),
    "Abs": lambda first, second: (0, max(map(abs, first))),
    "ReduceMax": lambda first, second: first,
    "ReduceMin": lambda first, second: first,
    "ReduceSum": _MULTIPLY,
    "CumSum": _MULTIPLY,
}
_MOVES = "Reshape Transpose Squeeze Unsqueeze Slice Split Expand Identity Flatten Gather "
_MOVES += "GatherElements Dropout Tile DepthToSpace SpaceToDepth Trilu"
_COMPARISONS = "Equal Less LessOrEqual Greater GreaterOrEqual IsNaN IsInf"
_RESULTS: dict[str, Callable[[Importing, OnnxOp, Operands], Integers | None]] = {
    **dict.fromkeys(_MOVES.split(), _first_operand),
    **dict.fromkeys(_COMPARISONS.split(), _truth),
    **dict.fromkeys(("Concat", "Where"), _union),
    **dict.fromkeys(("ArgMax", "ArgMin"), _position),
    "OneHot": lambda model, node, operands: operands[2],
    "Cast": _cast,
}
_SUMS = {"ReduceSum", "CumSum"}


def _bounds(node: OnnxOp, operands: Operands, model: Importing) -> Integers:
    first, *rest = (each for each in operands if each)
    if node.kind in _SUMS or node.kind.startswith("Reduce"):
        count = int(np.prod(model.shape(model.values[node.inputs[0]])))
        rest = [Integers(first.type, 0, count)] if node.kind in _SUMS else []
    if not all(each.exact for each in (first, *rest)):
        raise refusal(node, f"its integers may exceed {EXACT}, up to which float32 is exact")
    bounds = (first.low, first.high)
    for each in rest or [first]:
        bounds = _BOUNDS[node.kind](bounds, (each.low, each.high))
    limits: Any = integers_of(first.type)
    result = Integers(first.type, *bounds)
    if not result.exact or not _at_least(limits, result):
        what = f"{EXACT}" if not result.exact else type_name(first.type)
        raise refusal(node, f"its integers may exceed {what}")
    return result
