"""Each operation of a graph as operations of ONNX, opset 20."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from typing import Any

import msgspec
import numpy as np

from assay.native import ops
from assay.native.graph import Array, Node, Shape

OPSET = 20

Attribute = int | float | str | tuple[int, ...]


class OnnxNode(msgspec.Struct, frozen=True):
    kind: str
    inputs: tuple[str, ...]
    output: str
    attributes: Mapping[str, Attribute] = {}


class Writer:
    """ONNX nodes so far, and the constants they need beside the graph's own.

    Values and constants share one space of names in ONNX: what is made here gets an unused one.
    """

    def __init__(self, constants: Mapping[str, Array], values: Iterable[str]) -> None:
        self.nodes: list[OnnxNode] = []
        self.constants: dict[str, Array] = dict(constants)
        self._taken = {*constants, *values}

    def unused(self, name: str) -> str:
        while name in self._taken:
            name += "'"
        self._taken.add(name)
        return name

    def add(self, kind: str, *inputs: str, output: str, **attributes: Attribute) -> str:
        self.nodes.append(OnnxNode(kind, inputs, output, attributes))
        return output

    def constant(self, name: str, values: Any) -> str:  # noqa: ANN401 (what numpy takes)
        found = self.unused(name)
        self.constants[found] = np.asarray(values)
        return found


def add_node(writer: Writer, node: Node, shapes: Mapping[str, Shape]) -> None:
    """The operation, then what is done after it; only the last writes the node's output."""
    post: tuple[ops.Post, ...] = getattr(node.op, "post", ())
    names = [writer.unused(f"{node.output}/{n}") for n in range(len(post))] + [node.output]
    first = msgspec.structs.replace(node, output=names[0])
    _add(node.op, writer, first, [shapes[name] for name in node.inputs])
    for number, each in enumerate(post):
        before, after = names[number], names[number + 1]
        if isinstance(each, ops.ResidualOp):
            writer.add("Add", before, node.inputs[-1], output=after)
        else:
            inner = msgspec.structs.replace(node, op=each, inputs=(before,), output=after)
            _add(each, writer, inner, [])


@singledispatch
def _add(op: Any, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:  # noqa: ANN401
    raise NotImplementedError(type(op).__name__)


@_add.register
def _(op: ops.ConvOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    named = tuple(filter(None, (op.weight, op.bias)))
    writer.add(
        "Conv",
        node.inputs[0],
        *named,
        output=node.output,
        strides=op.strides,
        pads=op.pads,
        dilations=op.dilations,
        group=op.groups,
    )


@_add.register
def _(op: ops.DenseOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    if len(shapes[0]) == 1:
        named = tuple(filter(None, (op.weight, op.bias)))
        writer.add("Gemm", node.inputs[0], *named, output=node.output, transB=1)
        return
    turned = writer.constant(f"{op.weight}/turned", writer.constants[op.weight].T)
    product = writer.unused(f"{node.output}/product") if op.bias else node.output
    writer.add("MatMul", node.inputs[0], turned, output=product)
    if op.bias:
        writer.add("Add", product, op.bias, output=node.output)


@_add.register
def _(op: ops.BatchNormOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    size = len(writer.constants[op.mean])
    gamma = op.gamma or writer.constant(f"{node.name}/ones", np.ones(size, np.float32))
    beta = op.beta or writer.constant(f"{node.name}/zeros", np.zeros(size, np.float32))
    inputs = (node.inputs[0], gamma, beta, op.mean, op.variance)
    writer.add("BatchNormalization", *inputs, output=node.output, epsilon=op.epsilon)


@_add.register
def _(op: ops.PoolOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    kind = "MaxPool" if op.kind == "max" else "AveragePool"
    where: dict[str, Attribute] = {"kernel_shape": op.window, "strides": op.strides}
    writer.add(kind, node.inputs[0], output=node.output, pads=op.pads, **where)


@_add.register
def _(op: ops.GlobalPoolOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    kind = "GlobalMaxPool" if op.kind == "max" else "GlobalAveragePool"
    kept = writer.add(kind, node.inputs[0], output=writer.unused(f"{node.output}/kept"))
    writer.add("Flatten", kept, output=node.output, axis=1)


@_add.register
def _(op: ops.SoftmaxOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    writer.add("Softmax", node.inputs[0], output=node.output, axis=op.axis + 1)


_BINARY = {"add": "Add", "multiply": "Mul", "subtract": "Sub", "maximum": "Max", "minimum": "Min"}


@_add.register
def _(op: ops.BinaryOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    writer.add(_BINARY[op.kind], *node.inputs, output=node.output)


@_add.register
def _(op: ops.ConcatenateOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    writer.add("Concat", *node.inputs, output=node.output, axis=op.axis + 1)


@_add.register
def _(op: ops.ReshapeOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    # 0 leaves the batch as it is.
    shape = writer.constant(f"{node.output}/shape", np.array((0, *op.shape), np.int64))
    writer.add("Reshape", node.inputs[0], shape, output=node.output)


@_add.register
def _(op: ops.TransposeOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    order = (0, *(axis + 1 for axis in op.order))
    writer.add("Transpose", node.inputs[0], output=node.output, perm=order)


@_add.register
def _(op: ops.PadOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    """With its axes named: else ONNX Runtime (1.31 too) makes it the padding of a max pool after
    it, which is of minus infinities, not of zeros. All four of them: where it moves a transpose
    behind a pad, it takes the numbers for those of every axis."""
    top, left, bottom, right = op.pads
    whole = np.array((0, 0, top, left, 0, 0, bottom, right), np.int64)
    pads = writer.constant(f"{node.output}/pads", whole)
    axes = writer.constant(f"{node.output}/axes", np.arange(4, dtype=np.int64))
    writer.add("Pad", node.inputs[0], pads, "", axes, output=node.output)


@_add.register
def _(op: ops.UpsampleOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    scales = writer.constant(f"{node.output}/scales", np.array((1, 1, *op.scale), np.float32))
    how = {"mode": "nearest", "nearest_mode": "floor"}
    how |= {"coordinate_transformation_mode": "asymmetric"}
    writer.add("Resize", node.inputs[0], "", scales, output=node.output, **how)


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
}


@_add.register
def _(op: ops.ActivationOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    (value,), output = node.inputs, node.output
    if op.kind == "relu":
        _add_relu(op, writer, value, output)
    elif op.kind == "elu":
        writer.add("Elu", value, output=output, alpha=op.alpha)
    elif op.kind == "silu":
        gate = writer.add("Sigmoid", value, output=writer.unused(f"{output}/gate"))
        writer.add("Mul", value, gate, output=output)
    else:
        kind, attributes = _PLAIN[op.kind]
        writer.add(kind, value, output=output, **attributes)


def _add_relu(op: ops.ActivationOp, writer: Writer, value: str, output: str) -> None:
    if op.limit:
        limit = writer.constant(f"{output}/limit", np.float32(op.limit))
    if op.alpha:
        sloped = writer.unused(f"{output}/sloped") if op.limit else output
        writer.add("LeakyRelu", value, output=sloped, alpha=op.alpha)
        if op.limit:
            # Not by Clip, whose smallest result is a number: minus infinity would become that.
            writer.add("Min", sloped, limit, output=output)
    elif op.limit:
        zero = writer.constant(f"{output}/zero", np.float32(0))
        writer.add("Clip", value, zero, limit, output=output)
    else:
        writer.add("Relu", value, output=output)
