"""Elementwise ops: activations and binary operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.native import ops
from assay.native.activations import apply_activation
from assay.native.operations.definition import (
    Array,
    Constants,
    Definition,
    Shape,
    broadcast_shape,
    expect_inputs,
    same_shape,
    sizes,
)

if TYPE_CHECKING:
    from assay.native.emit import Emitter
    from assay.native.graph import Node
    from assay.native.onnx.writer import Attribute, Writer


def _activation(op: ops.ActivationOp, inputs: Sequence[Array], constants: Constants) -> Array:
    return apply_activation(op, inputs[0])


def _emit_activation(op: ops.ActivationOp, emitter: Emitter, node: Node) -> str:
    return f"net.activation({emitter.read(node)})" + emitter.posts(node, (op,))


_PLAIN: dict[str, tuple[str, dict[str, Attribute]]] = {
    "tanh": ("Tanh", {}),
    "sigmoid": ("Sigmoid", {}),
    "selu": ("Selu", {}),
    "gelu": ("Gelu", {}),
    "gelu_tanh": ("Gelu", {"approximate": "tanh"}),
    "softplus": ("Softplus", {}),
    "softsign": ("Softsign", {}),
    "exponential": ("Exp", {}),
    "hard_sigmoid": ("HardSigmoid", {"alpha": 1 / 6, "beta": 0.5}),
    "hard_silu": ("HardSwish", {}),
    "mish": ("Mish", {}),
    "sqrt": ("Sqrt", {}),
    "abs": ("Abs", {}),
    "negative": ("Neg", {}),
    "reciprocal": ("Reciprocal", {}),
    "log": ("Log", {}),
    "erf": ("Erf", {}),
    "sin": ("Sin", {}),
    "cos": ("Cos", {}),
    "floor": ("Floor", {}),
    "ceil": ("Ceil", {}),
    "round": ("Round", {}),
    "sign": ("Sign", {}),
    "tan": ("Tan", {}),
    "asin": ("Asin", {}),
    "acos": ("Acos", {}),
    "atan": ("Atan", {}),
    "sinh": ("Sinh", {}),
    "cosh": ("Cosh", {}),
    "asinh": ("Asinh", {}),
    "acosh": ("Acosh", {}),
    "atanh": ("Atanh", {}),
}


def _onnx_activation(
    op: ops.ActivationOp, writer: Writer, node: Node, shapes: Sequence[Shape]
) -> None:
    (value,), output = node.inputs, node.output
    if op.kind == "relu":
        _onnx_relu(op, writer, value, output)
    elif op.kind == "elu":
        writer.add("Elu", value, output=output, alpha=op.alpha)
    elif op.kind == "silu":
        gate = writer.add("Sigmoid", value, output=writer.unused_name(f"{output}/gate"))
        writer.add("Mul", value, gate, output=output)
    elif op.kind == "square":
        writer.add("Mul", value, value, output=output)
    elif op.kind == "truncate":
        size = writer.add("Abs", value, output=writer.unused_name(f"{output}/size"))
        whole = writer.add("Floor", size, output=writer.unused_name(f"{output}/whole"))
        sign = writer.add("Sign", value, output=writer.unused_name(f"{output}/sign"))
        writer.add("Mul", whole, sign, output=output)
    elif op.kind == "clip":
        bounds = [writer.constant(f"{output}/bound", np.float32(n)) for n in (op.alpha, op.limit)]
        writer.add("Clip", value, *bounds, output=output)
    else:
        kind, attributes = _PLAIN[op.kind]
        writer.add(kind, value, output=output, **attributes)


def _onnx_relu(op: ops.ActivationOp, writer: Writer, value: str, output: str) -> None:
    if op.limit:
        limit = writer.constant(f"{output}/limit", np.float32(op.limit))
    if op.alpha:
        sloped = writer.unused_name(f"{output}/sloped") if op.limit else output
        writer.add("LeakyRelu", value, output=sloped, alpha=op.alpha)
        if op.limit:
            # not Clip, whose lower bound is finite: it would replace minus infinity
            writer.add("Min", sloped, limit, output=output)
    elif op.limit:
        zero = writer.constant(f"{output}/zero", np.float32(0))
        writer.add("Clip", value, zero, limit, output=output)
    else:
        writer.add("Relu", value, output=output)


def _binary_shape(op: ops.BinaryOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes, 2)
    return broadcast_shape(shapes[0], shapes[1])


_NUMPY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "multiply": np.multiply,
    "subtract": np.subtract,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "divide": np.divide,
    "mask": lambda first, second: np.where(np.isnan(second), first, second),
    "where": lambda first, second: np.where(second != 0, first, first.dtype.type(-0.0)),
    "remainder": np.fmod,
    "power": np.power,
    "equal": lambda first, second: (first == second).astype(first.dtype),
    "less": lambda first, second: (first < second).astype(first.dtype),
    "less_equal": lambda first, second: (first <= second).astype(first.dtype),
}
_ONNX = {"add": "Add", "multiply": "Mul", "subtract": "Sub", "maximum": "Max", "minimum": "Min"}
_ONNX |= {"divide": "Div", "power": "Pow"}
_COMPARISONS = {"equal": "Equal", "less": "Less", "less_equal": "LessOrEqual"}


def _binary(op: ops.BinaryOp, inputs: Sequence[Array], constants: Constants) -> Array:
    first, second = inputs
    return _NUMPY[op.kind](first, second)


def _emit_binary(op: ops.BinaryOp, emitter: Emitter, node: Node) -> str:
    both = f"{emitter.read(node)}, {emitter.read(node, 1)}"
    call = f"net.binary(Kind::{op.kind}, {both}, {sizes(node.shape)})"
    return call + emitter.posts(node, op.post)


def _onnx_binary(op: ops.BinaryOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    if op.kind == "mask":
        open_ = writer.add(
            "IsNaN", node.inputs[1], output=writer.unused_name(f"{node.output}/open")
        )
        writer.add("Where", open_, *node.inputs, output=node.output)
    elif op.kind == "where":
        condition = writer.unused_name(f"{node.output}/condition")
        writer.add("Cast", node.inputs[1], output=condition, to=9)
        zero = writer.constant(f"{node.output}/zero", np.float32(-0.0))
        writer.add("Where", condition, node.inputs[0], zero, output=node.output)
    elif op.kind == "remainder":
        writer.add("Mod", *node.inputs, output=node.output, fmod=1)
    elif op.kind in _COMPARISONS:
        truth = writer.unused_name(f"{node.output}/truth")
        writer.add(_COMPARISONS[op.kind], *node.inputs, output=truth)
        writer.add("Cast", truth, output=node.output, to=1)
    else:
        writer.add(_ONNX[op.kind], *node.inputs, output=node.output)


TABLE: dict[type, Definition] = {
    ops.ActivationOp: Definition(
        shape=same_shape, compute=_activation, emit=_emit_activation, onnx=_onnx_activation
    ),
    ops.BinaryOp: Definition(
        shape=_binary_shape, compute=_binary, emit=_emit_binary, onnx=_onnx_binary
    ),
}
