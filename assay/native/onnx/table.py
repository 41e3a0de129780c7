"""Operators that the importer reads: their versions, and what each attribute does.

A version or attribute that is not listed is refused. `tests/native/test_onnx_table.py` compares
the rows with the schemas of the installed onnx package.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

OPSETS = range(6, 29)  # versions of ai.onnx that files may import

# "computed", "without effect" here, or the only values that are accepted; (): none
Effect = Literal["computed", "without effect"] | tuple[Any, ...]


class OperatorRow(msgspec.Struct, frozen=True):
    versions: tuple[int, ...]  # opsets that changed the operator, as far as OPSETS reach them
    attributes: Mapping[str, Effect]


def _row(
    versions: str, computed: str = "", ignored: str = "", **values: tuple[Any, ...]
) -> OperatorRow:
    effects: dict[str, Effect] = dict.fromkeys(computed.split(), "computed")
    effects |= dict.fromkeys(ignored.split(), "without effect")
    return OperatorRow(tuple(map(int, versions.split())), effects | values)


_PADDING = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
_PAD_MODES = ("constant", "edge", "reflect", "wrap")
_COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
# Attributes of version 6 and before, where shapes were broadcast only on demand.
_BROADCAST: dict[str, Any] = {"axis": (), "broadcast": (0, 1)}
_REDUCE = "axes keepdims"

OPERATORS: dict[str, OperatorRow] = {
    # elementwise
    **dict.fromkeys(("Abs", "Exp", "Log", "Neg", "Reciprocal", "Sqrt"), _row("6 13")),
    **dict.fromkeys(("Ceil", "Floor", "Sigmoid", "Tanh"), _row("6 13")),
    **dict.fromkeys(("Cos", "Sin", "Tan", "Acos", "Asin", "Atan"), _row("7 22")),
    **dict.fromkeys(("Acosh", "Asinh", "Atanh", "Cosh", "Sinh"), _row("9 22")),
    **dict.fromkeys(("Erf", "Sign"), _row("9 13")),
    **dict.fromkeys(("Softplus", "Softsign"), _row("1 22")),
    "HardSwish": _row("14 22"),
    "Mish": _row("18 22"),
    "Relu": _row("6 13 14"),
    "Round": _row("11 22"),
    "LeakyRelu": _row("6 16", "alpha"),
    "PRelu": _row("6 7 9 16"),
    "Elu": _row("6 22", "alpha"),
    "Selu": _row("6 22", "alpha gamma"),
    "Gelu": _row("20", approximate=("none", "tanh")),
    "HardSigmoid": _row("6 22", "alpha beta"),
    "Clip": _row("6 11 12 13", "min max"),
    "Dropout": _row("6 7 10 12 13 22", "is_test", "ratio seed"),
    "Identity": _row("1 13 14 16 19 21 23 24 25"),
    "IsNaN": _row("9 13 20"),
    "IsInf": _row("10 20", "detect_negative detect_positive"),
    "Celu": _row("12 28", "alpha"),
    "Shrink": _row("9", "bias lambd"),
    "Swish": _row("24", "alpha"),
    "ThresholdedRelu": _row("10 22", "alpha"),
    # of several inputs
    **dict.fromkeys(("Add", "Div", "Mul", "Sub"), _row("6 7 13 14", **_BROADCAST)),
    "Pow": _row("1 7 12 13 15", **_BROADCAST),
    **dict.fromkeys(("Max", "Min"), _row("6 8 12 13")),
    **dict.fromkeys(("Mean", "Sum"), _row("6 8 13")),
    "Mod": _row("10 13 28", "fmod"),
    **dict.fromkeys(("And", "Or", "Xor"), _row("1 7", **_BROADCAST)),
    "Not": _row("1"),
    "Equal": _row("1 7 11 13 19", **_BROADCAST),
    **dict.fromkeys(("Greater", "Less"), _row("1 7 9 13", **_BROADCAST)),
    **dict.fromkeys(("GreaterOrEqual", "LessOrEqual"), _row("12 16")),
    "Where": _row("9 16"),
    # layers
    "Conv": _row("1 11 22", "dilations group pads strides", "kernel_shape", auto_pad=_PADDING),
    "ConvTranspose": _row(
        "1 11 22",
        "dilations group output_padding pads strides",
        "kernel_shape",
        auto_pad=("NOTSET",),
        output_shape=(),
    ),
    "MaxPool": _row(
        "1 8 10 11 12 22",
        "ceil_mode dilations kernel_shape pads strides",
        auto_pad=_PADDING,
        storage_order=(0,),
    ),
    "AveragePool": _row(
        "1 7 10 11 19 22",
        "ceil_mode count_include_pad dilations kernel_shape pads strides",
        auto_pad=_PADDING,
    ),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), _row("1 22")),
    "Gemm": _row("6 7 9 11 13", "alpha beta transA transB", broadcast=(0, 1)),
    "MatMul": _row("1 9 13"),
    "BatchNormalization": _row(
        "6 7 9 14 15", "epsilon is_test", "momentum", spatial=(1,), training_mode=(0,)
    ),
    "InstanceNormalization": _row("6 22", "epsilon"),
    "LayerNormalization": _row("17", "axis epsilon", stash_type=(1,)),
    "GroupNormalization": _row("18 21", "epsilon num_groups", stash_type=(1,)),
    "RMSNormalization": _row("23", "axis epsilon", stash_type=(1,)),
    "LpNormalization": _row("1 22", "axis", p=(1, 2)),
    "LRN": _row("1 13", "alpha beta bias size"),
    **dict.fromkeys(("Hardmax", "LogSoftmax", "Softmax"), _row("1 11 13", "axis")),
    # shapes and parts
    "Flatten": _row("1 9 11 13 21 23 24 25", "axis"),
    "Reshape": _row("5 13 14 19 21 23 24 25", "allowzero"),
    "Transpose": _row("1 13 21 23 24 25", "perm"),
    **dict.fromkeys(("Squeeze", "Unsqueeze"), _row("1 11 13 21 23 24 25", "axes")),
    "Concat": _row("4 11 13", "axis"),
    "Split": _row("2 11 13 18", "axis num_outputs split"),
    "Slice": _row("1 10 11 13", "axes ends starts"),
    "Expand": _row("8 13"),
    "Tile": _row("6 13"),
    "DepthToSpace": _row("1 11 13 28", "blocksize", mode=("DCR", "CRD")),
    "SpaceToDepth": _row("1 13 28", "blocksize", mode=("DCR", "CRD")),
    "Pad": _row(
        "2 11 13 18 19 21 23 24 25", "pads value", mode=("constant", "edge", "reflect", "wrap")
    ),
    "Resize": _row(
        "10 11 13 18 19",
        "axes cubic_coeff_a",
        "extrapolation_value",
        antialias=(0,),
        coordinate_transformation_mode=_COORDINATES,
        exclude_outside=(0,),
        keep_aspect_ratio_policy=("stretch",),
        mode=("nearest", "linear", "cubic"),
        nearest_mode=("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    ),
    "Upsample": _row("1 7 9 10", "scales", mode=("nearest",), height_scale=(), width_scale=()),
    "Gather": _row("1 11 13", "axis"),
    "GatherElements": _row("11 13", "axis"),
    "ScatterND": _row("11 13 16 18", reduction=("none",)),
    "Trilu": _row("14", "upper"),
    "OneHot": _row("9 11 28", "axis"),
    **dict.fromkeys(("ArgMax", "ArgMin"), _row("1 11 12 13", "axis keepdims select_last_index")),
    # sums and extremes
    **dict.fromkeys(
        ("ReduceL1", "ReduceL2", "ReduceMean", "ReduceProd", "ReduceSumSquare"),
        _row("1 11 13 18", f"{_REDUCE} noop_with_empty_axes"),
    ),
    "ReduceLogSum": _row("1 11 13 18 28", f"{_REDUCE} noop_with_empty_axes"),
    **dict.fromkeys(
        ("ReduceMax", "ReduceMin"), _row("1 11 12 13 18 20", f"{_REDUCE} noop_with_empty_axes")
    ),
    "ReduceSum": _row("1 11 13", f"{_REDUCE} noop_with_empty_axes"),
    "CumSum": _row("11 14", "exclusive reverse"),
    # types and constants
    "Cast": _row("6 9 13 19 21 23 24 25 28", "to", "round_mode saturate"),
    "CastLike": _row("15 19 21 23 24 25", "", "round_mode saturate"),
    "Constant": _row(
        "1 9 11 12 13 19 21 23 24 25",
        "value value_float value_floats value_int value_ints",
        sparse_value=(),
        value_string=(),
        value_strings=(),
    ),
    "ConstantOfShape": _row("9 20 21 23 24 25", "value"),
    "Range": _row("11 27", stash_type=(1,)),
    "Size": _row("1 13 19 21 23 24 25"),
    "Shape": _row("1 13 15 19 21 23 24 25", "end start"),
}


def unsupported(
    kind: str, opset: int, attributes: Mapping[str, Any], rows: Mapping[str, OperatorRow]
) -> str:
    """Why a node is refused, as a clause; "" if its operator, opset and attributes are listed."""
    if kind not in rows:
        return "this operator is not supported"
    if opset not in OPSETS:
        return f"it is of opset {opset}, and opsets {OPSETS[0]} to {OPSETS[-1]} are supported"
    row = rows[kind]
    if opset < row.versions[0]:
        return f"opset {opset} does not have it, and {row.versions[0]} is its first"
    for name, value in attributes.items():
        if (effect := row.attributes.get(name, ())) in ("computed", "without effect"):
            continue
        if name not in row.attributes:
            return f"its attribute '{name}' is not known; supported: {_list(row.attributes)}"
        if value not in effect:
            return f"its attribute '{name}' is {value!r}; supported: {_list(effect)}"
    return ""


def _list(names: Iterable[Any]) -> str:
    return ", ".join(map(str, names)) or "none"
