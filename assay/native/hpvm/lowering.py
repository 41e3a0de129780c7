"""Lower a graph to HPVM's operations; raises for a layer that HPVM has none for."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from assay.core.errors import UsageError
from assay.native import ops
from assay.native.graph import Array, Graph, Node, Shape
from assay.native.hpvm.dataflow import INPUT, Dataflow, Leaf, LeafOp
from assay.native.ops import constants_of
from assay.native.passes.pipeline import eliminate_dead_code, fold_padding
from assay.native.passes.transposes import (
    merge_transposes,
    permute_dense_weights,
    take_channels_first,
)

_NORM = ("gamma", "beta", "mean", "variance")  # in the order of the intrinsic
_SUPPORTED = (
    "Conv2D, DepthwiseConv2D, Dense, BatchNormalization, MaxPooling2D, AveragePooling2D, "
    "GlobalAveragePooling2D, Flatten, Add, ZeroPadding2D, Dropout, and relu, tanh and softmax"
)


class _LeafValue(NamedTuple):
    """A value of the graph in HPVM: its leaf, and its shape without flattening."""

    name: str
    shape: Shape


def dataflow(graph: Graph) -> Dataflow:
    """The leaves of a captured model, without fusion or folding."""
    for run_pass in (
        take_channels_first,
        merge_transposes,
        permute_dense_weights,
        fold_padding,
        eliminate_dead_code,
    ):
        graph = run_pass(graph)
    return _Lowering(graph).lower()


def with_softmax(graph: Graph) -> Graph:
    """The graph with a softmax at its end, as in HPVM's networks."""
    last = graph.nodes[-1]
    if isinstance(last.op, ops.SoftmaxOp) or len(last.shape) != 1:
        return graph
    name = f"{last.output}/softmax"
    end = Node(
        name="softmax", op=ops.SoftmaxOp(), inputs=(last.output,), output=name, shape=last.shape
    )
    return Graph(
        name=graph.name,
        inputs=graph.inputs,
        nodes=(*graph.nodes, end),
        outputs=(name,),
        constants=graph.constants,
    )


class _Lowering:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.names = layer_names(graph)
        self.values: dict[str, _LeafValue] = {}
        self.leaves: list[Leaf] = []
        self.costs: list[float] = []
        self.tensors: dict[str, Array] = {}

    def lower(self) -> Dataflow:
        graph = self.graph
        if len(graph.inputs) != 1 or len(graph.outputs) != 1 or len(graph.inputs[0].shape) != 3:
            raise UsageError(
                f"{graph.name} has {len(graph.inputs)} inputs and {len(graph.outputs)} outputs, "
                "but HPVM takes one image and gives one result.",
                hint="Translate a network that classifies images.",
            )
        self.values[graph.inputs[0].name] = _LeafValue(INPUT, graph.inputs[0].shape)
        for node in graph.nodes:
            self.add(node)
        if not self.leaves or self.values[graph.outputs[0]].name != self.leaves[-1].name:
            raise self.refusal(graph.nodes[-1], "the output, but not what is computed last")
        return Dataflow(
            name=graph.name,
            shape=graph.inputs[0].shape,
            classes=math.prod(graph.shapes()[graph.outputs[0]]),
            leaves=tuple(self.leaves),
            tensors=self.tensors,
            costs=tuple(self.costs),
        )

    def add(self, node: Node) -> None:
        handler = _HANDLERS.get(type(node.op))
        if handler is None:
            raise self.unknown(node)
        handler(self, node, node.op)

    def unknown(self, node: Node) -> UsageError:
        return self.refusal(node, f"a {_word(node.op)}, which HPVM has no operation for")

    def refusal(self, node: Node, what: str) -> UsageError:
        return UsageError(
            f"The layer '{node.name}' is {what}.", hint=f"HPVM-C can be written of {_SUPPORTED}."
        )

    def shape(self, node: Node) -> Shape:
        return self.values[node.input].shape

    def leaf(
        self,
        node: Node,
        op: LeafOp,
        tensors: tuple[str, ...] = (),
        numbers: tuple[float, ...] = (),
        cost: float = 0.0,
        before: tuple[str, ...] = (),
    ) -> str:
        """Add a leaf over the node's own inputs, or over `before` in the same layer."""
        name = f"var_{len(self.leaves)}"
        values = before or tuple(self.values[value].name for value in node.inputs)
        inputs = (*values, *tensors)
        layer = self.names[node.output]
        self.leaves.append(
            Leaf(name=name, op=op, inputs=inputs, numbers=numbers, layer=layer, node=node.name)
        )
        self.costs.append(cost)
        self.values[node.output] = _LeafValue(name, node.shape)
        return name

    def tensor(self, node: Node, ending: str, array: Array) -> str:
        name = f"{self.names[node.output]}_{ending}"
        self.tensors[name] = np.ascontiguousarray(array, np.float32)
        return name

    def convolution(self, node: Node, op: ops.ConvOp) -> None:
        top, left, bottom, right = op.pads
        if (top, left) != (bottom, right) or op.dilations != (1, 1):
            what = "dilated" if op.dilations != (1, 1) else "padded more at one side than the other"
            raise self.refusal(node, f"a convolution {what}, which HPVM's cannot be")
        weight = self.graph.constants[op.weight]
        w = self.tensor(node, "w", weight)
        _, high, wide = self.shape(node)
        cost = weight.size * (high / op.strides[0]) * (wide / op.strides[1])
        numbers: tuple[float, ...] = (top, left, *op.strides)
        kind: LeafOp = "conv"
        if op.groups > 1:  # HPVM counts no cost for it
            kind, numbers, cost = "group_conv", (*numbers, 1, op.groups), 0.0
        self.add_bias(node, self.leaf(node, kind, (w,), numbers, cost), op)

    def dense(self, node: Node, op: ops.DenseOp) -> None:
        if len(node.shape) != 1:
            raise self.refusal(node, f"a Dense layer over {self.shape(node)} without a Flatten")
        weight = self.graph.constants[op.weight].T  # HPVM multiplies rows by (in, out)
        w = self.tensor(node, "w", weight)
        self.add_bias(node, self.leaf(node, "mul", (w,), cost=float(weight.size)), op)

    def add_bias(self, node: Node, name: str, op: ops.ConvOp | ops.DenseOp) -> None:
        if op.bias:
            b = self.tensor(node, "b", self.graph.constants[op.bias])
            self.leaf(node, "add", (b,), before=(name,))

    def norm(self, node: Node, op: ops.BatchNormOp) -> None:
        names = constants_of(op)
        size = self.shape(node)[0]
        constants = {part: self.graph.constants[name] for part, name in names.items()}
        values = {"gamma": np.ones(size), "beta": np.zeros(size), **constants}
        parts = tuple(self.tensor(node, part, values[part]) for part in _NORM)
        self.leaf(node, "batchnorm", parts, (op.epsilon,))

    def pool(self, node: Node, op: ops.PoolOp | ops.GlobalPoolOp) -> None:
        kind: LeafOp = "pool_max" if op.kind == "max" else "pool_mean"
        if isinstance(op, ops.GlobalPoolOp):
            window = self.shape(node)[1:]
            self.leaf(node, kind, (), (*window, 0, 0, *window))
            return
        top, left, bottom, right = op.pads
        if (top, left) != (bottom, right):
            raise self.refusal(node, "padded more at one side than the other, as HPVM cannot")
        self.leaf(node, kind, (), (*op.window, top, left, *op.strides))

    def activation(self, node: Node, op: ops.ActivationOp) -> None:
        plain = op.kind == "tanh" or (op.kind == "relu" and not op.alpha and not op.limit)
        if not plain:
            raise self.unknown(node)
        shape = self.shape(node)
        name = self.leaf(node, "tanh" if op.kind == "tanh" else "relu")
        self.values[node.output] = _LeafValue(name, shape)

    def softmax(self, node: Node, op: ops.SoftmaxOp) -> None:
        if math.prod(self.shape(node)[1:]) != 1 or op.axis != 0:
            raise self.refusal(node, f"a softmax over {self.shape(node)}, where HPVM takes classes")
        self.leaf(node, "softmax")

    def sum(self, node: Node, op: ops.BinaryOp) -> None:
        if op.kind != "add" or op.post:
            raise self.unknown(node)
        shapes = {self.values[value].shape for value in node.inputs}
        if len(shapes) != 1:
            raise self.refusal(node, "a sum of different shapes, which HPVM-C is not written of")
        self.leaf(node, "add")
        self.values[node.output] = _LeafValue(self.leaves[-1].name, shapes.pop())

    def flatten(self, node: Node, op: ops.ReshapeOp) -> None:
        """HPVM flattens where it multiplies."""
        if len(node.shape) != 1 and self.shape(node) != node.shape:
            raise self.unknown(node)
        self.values[node.output] = self.values[node.input]


_HANDLERS: dict[type, Callable[[_Lowering, Node, Any], None]] = {
    ops.ConvOp: _Lowering.convolution,
    ops.DenseOp: _Lowering.dense,
    ops.BatchNormOp: _Lowering.norm,
    ops.PoolOp: _Lowering.pool,
    ops.GlobalPoolOp: _Lowering.pool,
    ops.ActivationOp: _Lowering.activation,
    ops.SoftmaxOp: _Lowering.softmax,
    ops.BinaryOp: _Lowering.sum,
    ops.ReshapeOp: _Lowering.flatten,
}


def layer_names(graph: Graph) -> dict[str, str]:
    """Output of a node → its layer's name, as a file name and C identifier.

    Keras numbers default names differently in each process: each kind is renumbered from 1, in the
    order of creation.
    """
    names = {node.output: re.sub(r"\W", "_", node.name, flags=re.ASCII) for node in graph.nodes}
    kinds: dict[str, list[tuple[int, str]]] = {}
    for output, name in names.items():
        if match := re.fullmatch(
            r"((?:depthwise_)?conv2d|dense|batch_normalization)(?:_(\d+))?", name
        ):
            kinds.setdefault(match[1], []).append((int(match[2] or 0), output))
    for kind, members in kinds.items():
        for number, (_, output) in enumerate(sorted(members), 1):
            names[output] = f"{kind}_{number}"
    used: set[str] = set()
    for output, name in names.items():
        while name in used:
            name += "_"
        names[output] = name
        used.add(name)
    return names


def _word(op: ops.Op) -> str:
    kind = f" {op.kind}" if hasattr(op, "kind") else ""
    return f"{type(op).__struct_config__.tag}{kind}"
