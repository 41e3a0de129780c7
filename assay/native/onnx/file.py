"""A graph as an ONNX model, for every tool that reads one; the batch stays free."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from assay.core.files import write_user_file
from assay.core.protobuf import Message, encode_bytes, encode_float, encode_int, encode_text
from assay.native.graph import Array, Graph, Shape
from assay.native.onnx.writer import OPSET, Attribute, OnnxNode, Writer, add_node
from assay.native.ops import BinaryOp, ConstantOp, EmbeddingOp, MatMulOp
from assay.native.passes.pipeline import eliminate_dead_code, fold_padding

IR_VERSION = 9  # the one that opset 20 came with
_FLOAT, _INT32, _INT64 = 1, 6, 7  # of TensorProto.DataType


def write_onnx(graph: Graph, path: str | Path) -> None:
    write_user_file(path, onnx_bytes(graph))


def onnx_bytes(graph: Graph) -> bytes:
    """A ModelProto; the field numbers are those of onnx.proto."""
    return b"".join(
        (
            encode_int(1, IR_VERSION),
            encode_text(2, "assay"),
            # Padding belongs to a convolution where it can: not every reader would see that.
            encode_bytes(7, _graph(eliminate_dead_code(fold_padding(graph)))),
            encode_bytes(8, encode_text(1, "") + encode_int(2, OPSET)),
        )
    )


def _graph(graph: Graph) -> Message:
    shapes = graph.shapes()
    writer = Writer(graph.constants, shapes)
    writer.repeated = _duplicates(graph)
    floats = _floats(graph, writer)
    shapes |= {floats[name]: shapes[name] for name in floats}
    for node in graph.nodes:
        if not isinstance(node.op, EmbeddingOp):
            read = tuple(floats.get(name, name) for name in node.inputs)
            node = msgspec.structs.replace(node, inputs=read)
        add_node(writer, node, shapes)
    outputs = _own_names(graph, writer)
    for name, output in zip(graph.outputs, outputs, strict=True):
        if name != output:
            writer.add("Identity", name, output=output)
    parts = [encode_bytes(1, _node(node, number)) for number, node in enumerate(writer.nodes)]
    parts.append(encode_text(2, graph.name))
    used = {name for node in writer.nodes for name in node.inputs}
    parts += [
        encode_bytes(5, _tensor(name, a)) for name, a in writer.constants.items() if name in used
    ]
    kinds = {"float32": _FLOAT, "int32": _INT32}
    parts += [encode_bytes(11, _value(v.name, v.shape, kinds[v.dtype])) for v in graph.inputs]
    parts += [
        encode_bytes(12, _value(output, shapes[name]))
        for name, output in zip(graph.outputs, outputs, strict=True)
    ]
    return b"".join(parts)


def _floats(graph: Graph, writer: Writer) -> dict[str, str]:
    """Inputs of integers that are computed with, by their names as floats."""
    readers = graph.readers()
    return {
        value.name: writer.add(
            "Cast", value.name, output=writer.unused_name(f"{value.name}/float"), to=_FLOAT
        )
        for value in graph.inputs
        if value.dtype == "int32"
        and any(not isinstance(reader.op, EmbeddingOp) for reader in readers.get(value.name, ()))
    }


def _duplicates(graph: Graph) -> set[str]:
    """Constants that somebody reads as a whole batch: not only to be combined with one."""
    alone = {node.output for node in graph.nodes if isinstance(node.op, ConstantOp)}
    readers = graph.readers()
    return {
        name
        for name in alone
        if name in graph.outputs
        or any(
            not isinstance(reader.op, BinaryOp | MatMulOp) or set(reader.inputs) <= alone
            for reader in readers[name]
        )
    }


def _own_names(graph: Graph, writer: Writer) -> list[str]:
    """Of the outputs: ONNX wants each written by a node, once."""
    samples = {value.name for value in graph.inputs}
    names = []
    for number, name in enumerate(graph.outputs):
        own = writer.unused_name(f"{name}/output{number}") if name in samples else name
        names.append(own)
        samples.add(name)
    return names


def _node(node: OnnxNode, number: int) -> Message:
    parts = [encode_text(1, name) for name in node.inputs]
    parts += [
        encode_text(2, node.output),
        encode_text(3, f"{number}/{node.output}"),
        encode_text(4, node.kind),
    ]
    parts += [encode_bytes(5, _attribute(name, value)) for name, value in node.attributes.items()]
    return b"".join(parts)


def _attribute(name: str, value: Attribute) -> Message:
    return encode_text(1, name) + b"".join(_attribute_value(value))


def _attribute_value(value: Attribute) -> Iterator[bytes]:
    """The value in the field of its kind, and which kind it is."""
    if isinstance(value, float):
        yield encode_float(2, value) + encode_int(20, 1)
    elif isinstance(value, int):
        yield encode_int(3, value) + encode_int(20, 2)
    elif isinstance(value, str):
        yield encode_text(4, value) + encode_int(20, 3)
    else:
        yield from (encode_int(8, each) for each in value)
        yield encode_int(20, 7)


def _tensor(name: str, array: Array) -> Message:
    kind = _INT64 if array.dtype == np.int64 else _FLOAT
    raw = array.astype("<i8" if kind == _INT64 else "<f4").tobytes()
    dims = b"".join(encode_int(1, size) for size in array.shape)
    return dims + encode_int(2, kind) + encode_text(8, name) + encode_bytes(9, raw)


def _value(name: str, shape: Shape, kind: int = _FLOAT) -> Message:
    """The name and type of an input or output; its first axis is called batch."""
    dims = encode_bytes(1, encode_text(2, "batch")) + b"".join(
        encode_bytes(1, encode_int(1, size)) for size in shape
    )
    tensor = encode_int(1, kind) + encode_bytes(2, dims)
    return encode_text(1, name) + encode_bytes(2, encode_bytes(1, tensor))
