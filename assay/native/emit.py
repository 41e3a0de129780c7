"""An optimized graph → C++ that reads like the network: a line for each layer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from assay.errors import UsageError
from assay.native import ops
from assay.native.graph import Array, Graph, Node, Shape

_KEYWORDS = {"input", "net", "auto", "int", "float", "double", "char", "bool", "short", "long"}
_KEYWORDS |= {"class", "struct", "union", "enum", "this", "new", "delete", "return", "if", "else"}
_KEYWORDS |= {"for", "while", "do", "switch", "case", "default", "break", "continue", "const"}
_KEYWORDS |= {"static", "public", "private", "template", "typename", "operator", "main", "and"}
_KEYWORDS |= {"or", "not", "xor", "true", "false", "using", "namespace", "void", "try", "catch"}


class Emitted(msgspec.Struct, frozen=True, kw_only=True):
    """A model as source text and the constants it names."""

    name: str
    source: str
    constants: dict[str, Array]
    input_shape: Shape  # of an image (channels, height, width), whatever the model's own order
    output_shape: Shape
    channels_last: bool  # the model itself takes its pictures so


def emit(graph: Graph) -> Emitted:
    """One input, one output. An input that the model takes channels last is turned at the door."""
    if len(graph.inputs) != 1 or len(graph.outputs) != 1:
        raise UsageError(
            f"{graph.name} has {len(graph.inputs)} inputs and {len(graph.outputs)} outputs, "
            "but a native program has one of each.",
            hint="Compile the parts, or run it on another backend.",
        )
    return _Emitter(graph).emitted()


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

    def emitted(self) -> Emitted:
        (value,) = self.graph.inputs
        turned = self._turned_input()
        shape = self.shapes[turned[0]] if turned else value.shape
        self.lines.append(f"const Value input = net.input({_sizes(shape)});")
        self.variables |= dict.fromkeys([*turned, value.name], "input")
        for node in self.graph.nodes:
            if node.output not in turned:
                self._add(node)
        self.lines.append(f"net.output({self.variables[self.graph.outputs[0]]});")
        return Emitted(
            name=file_name(self.graph.name),
            source=_SOURCE.format(
                title=_comment(self.graph.name),
                layers=len(self.graph.nodes) - len(turned),
                body="\n".join(f"    {line}" for line in self.lines),
                name=json.dumps(file_name(self.graph.name)),
            ),
            constants=self.constants,
            input_shape=shape,
            output_shape=self.shapes[self.graph.outputs[0]],
            channels_last=bool(turned),
        )

    def _turned_input(self) -> list[str]:
        """The input with its channels first, if that is all that is ever read of it."""
        (value,) = self.graph.inputs
        readers = self.graph.readers()[value.name]
        turns = all(_puts_channels_first(node.op, value.shape) for node in readers)
        if not readers or not turns or value.name in self.graph.outputs:
            return []
        return [node.output for node in readers]

    def _add(self, node: Node) -> None:
        variable = self._variable(node.output)
        call = _CALLS[type(node.op)](self, node)
        self.lines.append(f"const Value {variable} = {call};")

    def _variable(self, value: str) -> str:
        name = re.sub(r"\W", "_", value, flags=re.ASCII)
        if not name[:1].isalpha() or name in _KEYWORDS:
            name = f"layer_{name}"
        while name in self.variables.values():
            name += "_"
        self.variables[value] = name
        return name

    def _constant(self, name: str, values: Array | None = None) -> str:
        """Its name as a C++ text; whitespace would end it in the weights' index."""
        if not name:
            return '""'
        plain = re.sub(r"\s", "_", name)
        array = self.graph.constants[name] if values is None else values
        while plain in self.constants and self.constants[plain] is not array:
            plain += "_"
        self.constants[plain] = array
        return json.dumps(plain)

    def conv(self, node: Node) -> str:
        op = _of(ops.Conv, node)
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
        op, before = _of(ops.Dense, node), self._read(node)
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
        op, constants = _of(ops.BatchNorm, node), self.graph.constants
        deviation = np.sqrt(constants[op.variance].astype(np.float64) + op.epsilon)
        scale = (constants[op.gamma] if op.gamma else 1.0) / deviation
        shift = (constants[op.beta] if op.beta else 0.0) - constants[op.mean] * scale
        names = [
            self._constant(f"{node.name}/{part}", np.asarray(values, np.float32))
            for part, values in (("scale", scale), ("shift", shift))
        ]
        return f"net.normalize({self._read(node)}, {', '.join(names)})" + self._posts(node, op.post)

    def pool(self, node: Node) -> str:
        op = _of(ops.Pool, node)
        call = f"net.{op.kind}_pool({self._read(node)}, {_sizes(node.shape)}, {_sizes(op.window)})"
        call += _unless(op.strides, op.window, "strides") + _unless(op.pads, (0,) * 4, "pads")
        return call + self._posts(node, op.post)

    def global_pool(self, node: Node) -> str:
        op, shape = _of(ops.GlobalPool, node), self._shape(node)
        whole = f"{self._read(node)}, {_sizes((shape[0], 1, 1))}, {_sizes(shape[1:])}"
        return f"net.reshape(net.{op.kind}_pool({whole}), {_sizes(node.shape)})"

    def activation(self, node: Node) -> str:
        op = _of(ops.Activation, node)
        return f"net.activation({self._read(node)})" + self._posts(node, (op,))

    def softmax(self, node: Node) -> str:
        return f"net.softmax({self._read(node)}, {_of(ops.Softmax, node).axis})"

    def binary(self, node: Node) -> str:
        op = _of(ops.Binary, node)
        both = f"{self._read(node)}, {self._read(node, 1)}"
        call = f"net.binary(Kind::{op.kind}, {both}, {_sizes(node.shape)})"
        return call + self._posts(node, op.post)

    def concatenate(self, node: Node) -> str:
        inputs = ", ".join(self.variables[name] for name in node.inputs)
        axis = _of(ops.Concatenate, node).axis
        return f"net.concatenate({{{inputs}}}, {_sizes(node.shape)}, {axis})"

    def reshape(self, node: Node) -> str:
        return f"net.reshape({self._read(node)}, {_sizes(node.shape)})"

    def transpose(self, node: Node) -> str:
        order = _sizes(_of(ops.Transpose, node).order)
        return f"net.transpose({self._read(node)}, {_sizes(node.shape)}, {order})"

    def pad(self, node: Node) -> str:
        pads = _unless(_of(ops.Pad, node).pads, (0,) * 4, "pads")
        return f"net.pad({self._read(node)}, {_sizes(node.shape)})" + pads

    def upsample(self, node: Node) -> str:
        scale = _sizes(_of(ops.Upsample, node).scale)
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
        if isinstance(post, ops.Residual):
            return f".add({self._read(node, -1)})"
        if isinstance(post, ops.Pool):
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
            if isinstance(post, ops.Residual):
                other, shape = self._read(node, -1), _sizes(node.shape)
                call = f"net.binary(Kind::add, {call}, {other}, {shape})"
            else:
                call = f"net.activation({call}){self._post(node, post)}"
        return call


_CALLS: dict[type, Callable[[_Emitter, Node], str]] = {
    ops.Conv: _Emitter.conv,
    ops.Dense: _Emitter.dense,
    ops.BatchNorm: _Emitter.batch_norm,
    ops.Pool: _Emitter.pool,
    ops.GlobalPool: _Emitter.global_pool,
    ops.Activation: _Emitter.activation,
    ops.Softmax: _Emitter.softmax,
    ops.Binary: _Emitter.binary,
    ops.Concatenate: _Emitter.concatenate,
    ops.Reshape: _Emitter.reshape,
    ops.Transpose: _Emitter.transpose,
    ops.Pad: _Emitter.pad,
    ops.Upsample: _Emitter.upsample,
}

_SOURCE = """\
// {title}: {layers} layers, written by assay from the model's graph.
// Shapes are of one image: channels, height, width. Weights are in the file beside the program.
#include "model.hpp"

void assay::describe(Network& net) {{
{body}
}}

int main(int count, char** words) {{ return assay::program(count, words, {name}); }}
"""


def _puts_channels_first(op: ops.Op, shape: Shape) -> bool:
    if isinstance(op, ops.Reshape):  # of one channel, for which that is all it takes
        return shape[2:] == (1,) and op.shape == (1, *shape[:2])
    return op == ops.Transpose((2, 0, 1))


def _of(kind: type[Any], node: Node) -> Any:  # noqa: ANN401 (the node's op, of that kind)
    assert isinstance(node.op, kind)
    return node.op


def _sizes(sizes: Sequence[int]) -> str:
    return f"{{{', '.join(map(str, sizes))}}}"


def _unless(sizes: Sequence[int], usual: Sequence[int], name: str) -> str:
    return "" if tuple(sizes) == tuple(usual) else f".{name}({', '.join(map(str, sizes))})"


def _comment(text: str) -> str:
    return re.sub(r"[^\w .:-]", "_", text)
