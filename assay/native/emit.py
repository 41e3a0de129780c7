"""Emit C++ for an optimized graph: one line for each layer."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import msgspec

from assay.native import ops
from assay.native.graph import Array, Graph, Node, Shape, Value
from assay.native.operations import definition_of
from assay.native.operations.definition import sizes
from assay.native.passes.pipeline import eliminate_dead_code
from assay.native.passes.transposes import take_channels_first

# kind of an activation, which is stored in graph files → its name in the runtime, if different
FUNCTIONS = {"levels": "quantize"}


class ModelSource(msgspec.Struct, frozen=True, kw_only=True):
    """A model as source text and the constants it names."""

    name: str
    source: str
    constants: dict[str, Array]
    inputs: tuple[Value, ...]  # as in data files: an image is channels, height, width
    outputs: tuple[Shape, ...]
    channels_last: tuple[bool, ...]  # for each input: whether the model takes it so
    layers: tuple[str, ...] = ()  # the node of each of the program's layers


def emit(graph: Graph) -> ModelSource:
    """Images are channels first, whatever the model's own order."""
    channels_last = tuple(value.layout == "channels_last" for value in graph.inputs)
    return Emitter(eliminate_dead_code(take_channels_first(graph))).emit_model(channels_last)


def file_name(model: str) -> str:
    """File name for a model: `./my.py:MyNet` is MyNet."""
    name = model.rpartition("/")[2].rpartition(":")[2]
    return "".join(
        character if character.isalnum() or character in "-_." else "_" for character in name
    )


class Emitter:
    """Lines so far, and the parts of the operations' calls."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.shapes = graph.shapes()
        self.constants: dict[str, Array] = {}
        self.lines: list[str] = []
        self.layers: list[str] = []
        self.variables: dict[str, str] = {}

    def emit_model(self, channels_last: tuple[bool, ...]) -> ModelSource:
        for value in self.graph.inputs:
            kind = "image" if value.layout else "input"
            variable = self._variable(value.name)
            integers = ".int32()" if value.dtype == "int32" else ""
            self.lines.append(
                f"const Value {variable} = net.{kind}({sizes(value.shape)}){integers};"
            )
            self.layers.append(value.name)
        for node in self.graph.nodes:
            self._add(node)
        self.lines += [f"net.output({self.variables[name]});" for name in self.graph.outputs]
        return ModelSource(
            name=file_name(self.graph.name),
            source=_SOURCE.format(
                title=_comment(self.graph.name),
                layers=len(self.graph.nodes),
                body="\n".join(f"    {line}" for line in self.lines),
                name=json.dumps(file_name(self.graph.name)),
            ),
            constants=self.constants,
            inputs=self.graph.inputs,
            outputs=tuple(self.shapes[name] for name in self.graph.outputs),
            channels_last=channels_last,
            layers=tuple(self.layers),
        )

    def _add(self, node: Node) -> None:
        variable = self._variable(node.output)
        call = definition_of(node.op).emit(node.op, self, node)
        if node.dtype == "uint8":
            call += f".quantize({float(node.scale)!r}f, {node.zero}.0f)"
        self.lines.append(f"const Value {variable} = {call};")
        self.layers += [node.name] * call.count("net.")

    def _variable(self, value: str) -> str:
        """A new C++ variable; the prefix avoids C++ keywords and macros such as `NULL`."""
        name = "v_" + re.sub(r"\W", "_", value, flags=re.ASCII)
        while name in self.variables.values():
            name += "_"
        self.variables[value] = name
        return name

    def constant(self, name: str, values: Array | None = None) -> str:
        """Its name as a C++ string of printable ASCII without spaces, which end it in the index."""
        if not name:
            return '""'
        plain = re.sub(r"[^!-~]", "_", name)
        array = self.graph.constants[name] if values is None else values
        while plain in self.constants and self.constants[plain] is not array:
            plain += "_"
        self.constants[plain] = array
        return json.dumps(plain)

    def read(self, node: Node, which: int = 0) -> str:
        return self.variables[node.inputs[which]]

    def shape(self, node: Node) -> Shape:
        return self.shapes[node.inputs[0]]

    def forced_kernel(self, node: Node) -> str:
        return f".kernel({json.dumps(node.kernel)})" if node.kernel else ""

    def bias(self, name: str) -> str:
        return f", {self.constant(name)}" if name else ""

    def posts(self, node: Node, posts: Sequence[ops.Post]) -> str:
        return "".join(self.post(node, post) for post in posts)

    def post(self, node: Node, post: ops.Post) -> str:
        if isinstance(post, ops.ResidualOp):
            return f".add({self.read(node, -1)})"
        if isinstance(post, ops.PoolOp):
            return ""  # fused into a convolution, whose call says so
        numbers = [f"{float(number)!r}f" for number in (post.alpha, post.limit)]
        while numbers and numbers[-1] == "0.0f":
            numbers.pop()
        if post.kind in ("relu", "tanh"):
            return f".{post.kind}({', '.join(numbers)})"
        function = FUNCTIONS.get(post.kind, post.kind)
        return f".then({', '.join([f'Function::{function}', *numbers])})"

    def apply_posts(self, call: str, node: Node, posts: Sequence[ops.Post]) -> str:
        """Posts of a layer that needs a reshape first."""
        for post in posts:
            if isinstance(post, ops.ResidualOp):
                other, shape = self.read(node, -1), sizes(node.shape)
                call = f"net.binary(Kind::add, {call}, {other}, {shape})"
            else:
                call = f"net.activation({call}){self.post(node, post)}"
        return call


_SOURCE = """\
// {title}: {layers} layers, written by assay from the model's graph.
// Shapes are of one item; an image is channels, height, width. Weights are in the file beside it.
#include "model.hpp"

void assay::describe(Network& net) {{
{body}
}}

const char* const assay::model_name = {name};
"""


def _comment(text: str) -> str:
    return re.sub(r"[^\w .:-]", "_", text)
