"""An optimized graph → C++ that reads like the network: a line for each layer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from assay.core.errors import UsageError
from assay.native import ops
from assay.native.graph import Array, Graph, Layout, Node, Shape
from assay.native.passes.pipeline import drop_dead
from assay.native.passes.turning import take_channels_first


class Emitted(msgspec.Struct, frozen=True, kw_only=True):
    """A model as source text and the constants it names."""

    name: str
    source: str
    constants: dict[str, Array]
    input_shape: Shape  # as data files have it: of an image (channels, height, width)
    output_shape: Shape
    layout: Layout  # of data files: "channels_first" where the input is an image
    channels_last: bool  # the model itself takes its images so


def emit(graph: Graph) -> Emitted:
    """One input, one output. Images have their channels first, whatever the model's own order."""
    if len(graph.inputs) != 1 or len(graph.outputs) != 1:
        raise UsageError(
            f"{graph.name} has {len(graph.inputs)} inputs and {len(graph.outputs)} outputs, "
            "but a native program has one of each.",
            hint="Compile the parts, or run it on another backend.",
        )
    channels_last = graph.inputs[0].layout == "channels_last"
    return _Emitter(drop_dead(take_channels_first(graph))).emitted(channels_last)


def file_name(model: str) -> str:
    """A model's name as a file's: `./my.py:MyNet` is MyNet."""
    name = model.rpartition("/")[2].rpartition(":")[2]
    return "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)


class _Emitter:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.shapes = graph.shapes()
        self.constants: dict[str, Array] = {}
        self.lines: list[str] = []
        self.variables: dict[str, str] = {}

    def emitted(self, channels_last: bool) -> Emitted:
        (value,) = self.graph.inputs
        kind = "image" if value.layout else "input"
        variable = self._variable(value.name)
        self.lines.append(f"const Value {variable} = net.{kind}({_sizes(value.shape)});")
        for node in self.graph.nodes:
            self._add(node)
        self.lines.append(f"net.output({self.variables[self.graph.outputs[0]]});")
        return Emitted(
            name=file_name(self.graph.name),
            source=_SOURCE.format(
                title=_comment(self.graph.name),
                layers=len(self.graph.nodes),
                body="\n".join(f"    {line}" for line in self.lines),
                name=json.dumps(file_name(self.graph.name)),
            ),
            constants=self.constants,
            input_shape=value.shape,
            output_shape=self.shapes[self.graph.outputs[0]],
            layout=value.layout,
            channels_last=channels_last,
        )

    def _add(self, node: Node) -> None:
        variable = self._variable(node.output)
        call = _CALLS[type(node.op)](self, node)
        self.lines.append(f"const Value {variable} = {call};")

    def _variable(self, value: str) -> str:
        """A layer may have any name: `export` and `NULL` too, so none is used as it is."""
        name = "v_" + re.sub(r"\W", "_", value, flags=re.ASCII)
        while name in self.variables.values():
            name += "_"
        self.variables[value] = name
        return name

    def _constant(self, name: str, values: Array | None = None) -> str:
        """Its name as a C++ text, of plain letters and signs; a space would end it in the index."""
        if not name:
            return '""'
        plain = re.sub(r"[^!-~]", "_", name)
        array = self.graph.constants[name] if values is None else values
        while plain in self.constants and self.constants[plain] is not array:
            plain += "_"
        self.constants[plain] = array
        return json.dumps(plain)

    def conv(self, node: Node) -> str:
        op = _of(ops.ConvOp, node)
        shape, window = node.shape, self.graph.constants[op.weight].shape[2:]
        call = (
            f"net.convolution({self._read(node)}, {_sizes(shape)}, {_sizes(window)}, "
            f"{self._constant(op.weight)}{self._bias(op.bias)})"
        )
        call += _unless(op.strides, (1, 1), "strides") + _unless(op.pads, (0,) * 4, "pads")
        call += _unless(op.dilations, (1, 1), "dilations") + _unless((op.groups,), (1,), "groups")
        return call + self._posts(node, op.post)

    def dense(self, node: Node) -> str:
        """Rows of a matrix; what has more axes is one while the layer works."""
        op, before = _of(ops.DenseOp, node), self._read(node)
        shape = node.shape
        if len(shape) > 2:
            rows = int(np.prod(shape[:-1]))
            before = f"net.reshape({before}, {_sizes((rows, self._shape(node)[-1]))})"
            shape = (rows, shape[-1])
        weights = f"{self._constant(op.weight)}{self._bias(op.bias)}"
        call = f"net.dense({before}, {_sizes(shape)}, {weights})"
        if shape == node.shape:
            return call + self._posts(node, op.post)
        call = f"net.reshape({call}, {_sizes(node.shape)})"
        return self._after(call, node, op.post)

    def batch_norm(self, node: Node) -> str:
        op, constants = _of(ops.BatchNormOp, node), self.graph.constants
        deviation = np.sqrt(constants[op.variance].astype(np.float64) + op.epsilon)
        scale = (constants[op.gamma] if op.gamma else 1.0) / deviation
        shift = (constants[op.beta] if op.beta else 0.0) - constants[op.mean] * scale
        names = [
            self._constant(f"{node.name}/{part}", np.asarray(values, np.float32))
            for part, values in (("scale", scale), ("shift", shift))
        ]
        return f"net.normalize({self._read(node)}, {', '.join(names)})" + self._posts(node, op.post)

    def pool(self, node: Node) -> str:
        op = _of(ops.PoolOp, node)
        call = f"net.{op.kind}_pool({self._read(node)}, {_sizes(node.shape)}, {_sizes(op.window)})"
        call += _unless(op.strides, op.window, "strides") + _unless(op.pads, (0,) * 4, "pads")
        return call + self._posts(node, op.post)

    def global_pool(self, node: Node) -> str:
        op, shape = _of(ops.GlobalPoolOp, node), self._shape(node)
        whole = f"{self._read(node)}, {_sizes((shape[0], 1, 1))}, {_sizes(shape[1:])}"
        return f"net.reshape(net.{op.kind}_pool({whole}), {_sizes(node.shape)})"

    def activation(self, node: Node) -> str:
        op = _of(ops.ActivationOp, node)
        return f"net.activation({self._read(node)})" + self._posts(node, (op,))

    def softmax(self, node: Node) -> str:
        return f"net.softmax({self._read(node)}, {_of(ops.SoftmaxOp, node).axis})"

    def binary(self, node: Node) -> str:
        op = _of(ops.BinaryOp, node)
        both = f"{self._read(node)}, {self._read(node, 1)}"
        call = f"net.binary(Kind::{op.kind}, {both}, {_sizes(node.shape)})"
        return call + self._posts(node, op.post)

    def concatenate(self, node: Node) -> str:
        inputs = ", ".join(self.variables[name] for name in node.inputs)
        axis = _of(ops.ConcatenateOp, node).axis
        return f"net.concatenate({{{inputs}}}, {_sizes(node.shape)}, {axis})"

    def reshape(self, node: Node) -> str:
        return f"net.reshape({self._read(node)}, {_sizes(node.shape)})"

    def transpose(self, node: Node) -> str:
        order = _sizes(_of(ops.TransposeOp, node).order)
        return f"net.transpose({self._read(node)}, {_sizes(node.shape)}, {order})"

    def pad(self, node: Node) -> str:
        pads = _unless(_of(ops.PadOp, node).pads, (0,) * 4, "pads")
        return f"net.pad({self._read(node)}, {_sizes(node.shape)})" + pads

    def upsample(self, node: Node) -> str:
        scale = _sizes(_of(ops.UpsampleOp, node).scale)
        return f"net.upsample({self._read(node)}, {_sizes(node.shape)}, {scale})"

    def _read(self, node: Node, which: int = 0) -> str:
        return self.variables[node.inputs[which]]

    def _shape(self, node: Node) -> Shape:
        return self.shapes[node.inputs[0]]

    def _bias(self, name: str) -> str:
        return f", {self._constant(name)}" if name else ""

    def _posts(self, node: Node, posts: Sequence[ops.Post]) -> str:
        return "".join(self._post(node, post) for post in posts)

    def _post(self, node: Node, post: ops.Post) -> str:
        if isinstance(post, ops.ResidualOp):
            return f".add({self._read(node, -1)})"
        if isinstance(post, ops.PoolOp):
            raise AssertionError("pools are layers of their own here: fuse_pools is not among ours")
        numbers = [f"{number!r}f" for number in (post.alpha, post.limit)]
        while numbers and numbers[-1] == "0.0f":
            numbers.pop()
        if post.kind in ("relu", "tanh"):
            return f".{post.kind}({', '.join(numbers)})"
        return f".then({', '.join([f'Function::{post.kind}', *numbers])})"

    def _after(self, call: str, node: Node, posts: Sequence[ops.Post]) -> str:
        """Posts of a layer that had to be given another shape first."""
        for post in posts:
            if isinstance(post, ops.ResidualOp):
                other, shape = self._read(node, -1), _sizes(node.shape)
                call = f"net.binary(Kind::add, {call}, {other}, {shape})"
            else:
                call = f"net.activation({call}){self._post(node, post)}"
        return call


_CALLS: dict[type, Callable[[_Emitter, Node], str]] = {
    ops.ConvOp: _Emitter.conv,
    ops.DenseOp: _Emitter.dense,
    ops.BatchNormOp: _Emitter.batch_norm,
    ops.PoolOp: _Emitter.pool,
    ops.GlobalPoolOp: _Emitter.global_pool,
    ops.ActivationOp: _Emitter.activation,
    ops.SoftmaxOp: _Emitter.softmax,
    ops.BinaryOp: _Emitter.binary,
    ops.ConcatenateOp: _Emitter.concatenate,
    ops.ReshapeOp: _Emitter.reshape,
    ops.TransposeOp: _Emitter.transpose,
    ops.PadOp: _Emitter.pad,
    ops.UpsampleOp: _Emitter.upsample,
}

_SOURCE = """\
// {title}: {layers} layers, written by assay from the model's graph.
// Shapes are of one item; an image is channels, height, width. Weights are in the file beside it.
#include "model.hpp"

void assay::describe(Network& net) {{
{body}
}}

int main(int count, char** words) {{ return assay::program(count, words, {name}); }}
"""


def _of(kind: type[Any], node: Node) -> Any:  # noqa: ANN401 (the node's op, of that kind)
    assert isinstance(node.op, kind)
    return node.op


def _sizes(sizes: Sequence[int]) -> str:
    return f"{{{', '.join(map(str, sizes))}}}"


def _unless(sizes: Sequence[int], usual: Sequence[int], name: str) -> str:
    return "" if tuple(sizes) == tuple(usual) else f".{name}({', '.join(map(str, sizes))})"


def _comment(text: str) -> str:
    return re.sub(r"[^\w .:-]", "_", text)
