"""What an ONNX graph is made of while it is written, opset 20: nodes, and constants beside."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec
import numpy as np

from assay.native import ops
from assay.native.graph import Array, Node, Shape
from assay.native.operations import definition_of

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

    def __init__(self, constants: Mapping[str, Array], values: Collection[str]) -> None:
        self.nodes: list[OnnxNode] = []
        self.constants: dict[str, Array] = dict(constants)
        self.repeated: set[str] = set()  # values that have to have the batch of the inputs
        self.input = next(iter(values), "")  # one whose batch it is
        self._taken = {*constants, *values}

    def unused_name(self, name: str) -> str:
        while name in self._taken:
            name += "'"
        self._taken.add(name)
        return name

    def add(self, kind: str, *inputs: str, output: str, **attributes: Attribute) -> str:
        self.nodes.append(OnnxNode(kind, inputs, output, attributes))
        return output

    def reduce(self, kind: str, value: str, axes: Iterable[int], output: str) -> str:
        """Along axes of an item, which stay."""
        constant = self.constant(f"{output}/axes", np.array([axis + 1 for axis in axes], np.int64))
        # ONNX has the axes of a maximum as an input since 18, as those of all the others.
        return self.add(kind, value, constant, output=output, keepdims=1)

    def constant(self, name: str, values: Any) -> str:
        unique = self.unused_name(name)
        self.constants[unique] = np.asarray(values)
        return unique


def add_node(writer: Writer, node: Node, shapes: Mapping[str, Shape]) -> None:
    """The operation, then what is done after it; only the last writes the node's output."""
    post: tuple[ops.Post, ...] = getattr(node.op, "post", ())
    names = [writer.unused_name(f"{node.output}/{n}") for n in range(len(post))] + [node.output]
    first = msgspec.structs.replace(node, output=names[0])
    definition_of(node.op).onnx(node.op, writer, first, [shapes[name] for name in node.inputs])
    for number, each in enumerate(post):
        before, after = names[number], names[number + 1]
        if isinstance(each, ops.ResidualOp):
            writer.add("Add", before, node.inputs[-1], output=after)
        else:
            inner = msgspec.structs.replace(node, op=each, inputs=(before,), output=after)
            definition_of(each).onnx(each, writer, inner, [])
