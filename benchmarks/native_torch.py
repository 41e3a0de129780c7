"""The nets of `native_nets.py` as torch modules, for torch.compile.

What it makes of a Keras model, through Keras' own calls of torch, is many times slower.

A module holds the graph that assay captures, batch norms folded as for every other contender, and
calls torch's functions for its operations; images lie channels last, as Keras has them.
"""

from __future__ import annotations

import inspect
import os
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from assay.native import ops
from assay.native.capture import capture
from assay.native.graph import Graph, Node
from assay.native.ops import constants_of
from assay.native.passes.pipeline import optimize

NETS = Path(__file__).parent / "native_nets.py"


class GraphModule(torch.nn.Module):
    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph
        self.names = {name: f"constant{at}" for at, name in enumerate(graph.constants)}
        for name, array in graph.constants.items():
            tensor = torch.tensor(np.asarray(array))
            if tensor.ndim == 4:
                tensor = tensor.contiguous(memory_format=torch.channels_last)
            setattr(self, self.names[name], torch.nn.Parameter(tensor))

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        values = {self.graph.inputs[0].name: pictures}
        for node in self.graph.nodes:
            given = [values[name] for name in node.inputs]
            values[node.output] = self.computed(node, given)
        return values[self.graph.outputs[0]]

    def computed(self, node: Node, given: list[torch.Tensor]) -> torch.Tensor:
        held = {
            field: getattr(self, self.names[name]) for field, name in constants_of(node.op).items()
        }
        result = COMPUTED[type(node.op)](node.op, given, held)
        for post in getattr(node.op, "post", ()):
            added = isinstance(post, ops.ResidualOp)
            result = result + given[-1] if added else activation(post, [result], {})
        return result


def convolution(op: ops.ConvOp, given: Any, held: Any) -> torch.Tensor:
    top, left, bottom, right = op.pads
    values = given[0]
    even = (top, left) == (bottom, right)
    if not even:
        values = functional.pad(values, (left, right, top, bottom))
    return functional.conv2d(
        *(values, held["weight"], held.get("bias"), op.strides),
        padding=(top, left) if even else 0,
        dilation=op.dilations,
        groups=op.groups,
    )


def batch_norm(op: ops.BatchNormOp, given: Any, held: Any) -> torch.Tensor:
    parts = (held["mean"], held["variance"], held.get("gamma"), held.get("beta"))
    return functional.batch_norm(given[0], *parts, eps=op.epsilon)


def pool(op: ops.PoolOp, given: Any, held: Any) -> torch.Tensor:
    top, left, bottom, right = op.pads
    if op.kind == "max":
        padded = functional.pad(given[0], (left, right, top, bottom), value=-torch.inf)
        return functional.max_pool2d(padded, op.window, op.strides)
    assert (top, left) == (bottom, right)
    return functional.avg_pool2d(
        given[0], op.window, op.strides, (top, left), count_include_pad=False
    )


def layer_norm(op: ops.LayerNormOp, given: Any, held: Any) -> torch.Tensor:
    """Over channels, which lie last in memory: as a Keras model in this layout computes it."""
    assert op.axes == (0,)
    rows = given[0].movedim(1, -1)
    parts = (rows.shape[-1:], held.get("gamma"), held.get("beta"), op.epsilon)
    return functional.layer_norm(rows, *parts).movedim(-1, 1)


def activation(op: ops.ActivationOp, given: Any, held: Any) -> torch.Tensor:
    if op.kind == "relu":
        result = functional.leaky_relu(given[0], op.alpha) if op.alpha else given[0].relu()
        return result.clamp(max=op.limit) if op.limit else result
    return FUNCTIONS[op.kind](given[0])


FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "silu": functional.silu,
    "gelu": functional.gelu,
    "sigmoid": torch.sigmoid,
}
BINARY = {"add": torch.add, "multiply": torch.mul, "subtract": torch.sub, "divide": torch.div}
COMPUTED: dict[type, Callable[[Any, Any, Any], torch.Tensor]] = {
    ops.ConvOp: convolution,
    ops.BatchNormOp: batch_norm,
    ops.PoolOp: pool,
    ops.LayerNormOp: layer_norm,
    ops.ActivationOp: activation,
    ops.DenseOp: lambda op, given, held: functional.linear(
        given[0], held["weight"], held.get("bias")
    ),
    ops.GlobalPoolOp: lambda op, given, held: (
        given[0].mean((2, 3)) if op.kind == "average" else given[0].amax((2, 3))
    ),
    ops.SoftmaxOp: lambda op, given, held: given[0].softmax(op.axis + 1),
    ops.BinaryOp: lambda op, given, held: BINARY[op.kind](given[0], given[1]),
    ops.ConcatenateOp: lambda op, given, held: torch.cat(given, op.axis + 1),
    ops.ReshapeOp: lambda op, given, held: given[0].reshape(len(given[0]), *op.shape),
    ops.TransposeOp: lambda op, given, held: given[0].permute(0, *(at + 1 for at in op.order)),
    ops.PadOp: lambda op, given, held: functional.pad(
        given[0], (op.pads[1], op.pads[3], op.pads[0], op.pads[2])
    ),
    ops.ConstantOp: lambda op, given, held: held["weight"][None],
}


def application(net: str = "MobileNetV2", seed: int = 0) -> Any:
    """That of `native_nets.py`, for images as large as it says there."""
    os.environ["KERAS_BACKEND"] = "torch"
    model = runpy.run_path(str(NETS))[net](seed=seed)
    return GraphModule(optimize(capture(model, net))).eval()


def example(batch_size: int, net: str, seed: int) -> Any:
    """What the other contenders are given."""
    size = inspect.signature(runpy.run_path(str(NETS))[net]).parameters["size"].default
    random = np.random.default_rng([seed, 1])
    return random.uniform(-1, 1, (batch_size, size, size, 3)).astype(np.float32)
