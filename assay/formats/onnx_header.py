"""Header of an ONNX file: opset, inputs, number of parameters.

The file is mapped, not read, so that large models cost nothing. Field numbers are those of
onnx.proto.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.core.external_data import EXTERNAL, external_data
from assay.core.protobuf import DamagedError, fields

# TensorProto.DataType → numpy's name
TYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
}
MAX_SIZE = 2**31 - 1  # of an axis
FLOATING = frozenset({"float32", "float16", "float64"})
_PASSING = frozenset({"Cast", "Identity"})  # treated as identity


class ModelInput(msgspec.Struct, frozen=True, kw_only=True):
    """One input of a model file."""

    name: str
    dtype: str  # numpy's name
    sizes: tuple[int | str, ...]  # a name for an axis of free size
    upper_bound: int = 0  # exclusive upper bound of integers; 0: not known


class OnnxHeader(msgspec.Struct, frozen=True, kw_only=True):
    opset: int
    inputs: tuple[ModelInput, ...]
    parameters: int  # floating-point numbers in the file
    external_files: tuple[Path, ...] = ()  # external files with values of its tensors


def read(path: Path) -> OnnxHeader:
    """Raises UsageError if it is no ONNX file, or if it or an external file is incomplete."""
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return _header(memoryview(mapped), path)  # unmapped with the last view of it
    except OSError as error:
        raise UsageError(
            f"The file {path} cannot be read ({error.strerror}).", hint="Give an ONNX file's path."
        ) from None
    except (DamagedError, ValueError, IndexError, KeyError, struct.error) as error:
        raise UsageError(
            f"{path} is no ONNX model, or not all of one ({error}).",
            hint="Is the copy complete? python -m onnx.checker shows more.",
        ) from None


def _header(data: Any, path: Path) -> OnnxHeader:
    opset, graph = 0, None
    for number, value in fields(data):
        if number == 7:
            graph = value
        elif number == 8:
            parts: dict[int, Any] = dict(fields(value))  # type: ignore[arg-type]
            if _text(parts.get(1, b"")) in {"", "ai.onnx"}:
                opset = int(parts.get(2, 0))
    if graph is None or not opset:
        raise DamagedError("it has no graph" if opset else "it names no opset")
    return _graph(graph, opset, path)


def _graph(data: Any, opset: int, path: Path) -> OnnxHeader:
    """Initializers may come before or after the nodes."""
    inputs: list[ModelInput] = []
    rows: dict[str, int] = {}  # of each tensor with values in the file
    beside: set[Path] = set()
    lookups: list[tuple[str, str]] = []  # table, what is looked up
    aliases: dict[str, str] = {}
    parameters = 0
    for number, value in fields(data):
        if number == 1:
            _scan_node(value, lookups, aliases)
        elif number == 5:
            name, dims, kind, where = _tensor(value)
            rows[name] = dims[0] if dims else 1
            parameters += math.prod(dims) if TYPES.get(kind) in FLOATING else 0
            beside |= {external_data(path, where).path} if where else set()
        elif number == 11:
            inputs.append(_input(value))
    tables = _tables(rows, [(table, _origin(what, aliases)) for table, what in lookups])
    true_inputs = [item for item in inputs if item.name not in rows]
    bounded = (
        msgspec.structs.replace(item, upper_bound=tables.get(item.name, 0)) for item in true_inputs
    )
    return OnnxHeader(
        opset=opset,
        inputs=tuple(bounded),
        parameters=parameters,
        external_files=tuple(sorted(beside)),
    )


def _tables(rows: Mapping[str, int], lookups: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Rows of the table that each input indexes, the smallest of several."""
    sizes: dict[str, int] = {}
    for table, origin in lookups:
        if table in rows:
            sizes[origin] = min(rows[table], sizes.get(origin, rows[table]))
    return sizes


def _scan_node(data: Any, lookups: list[tuple[str, str]], aliases: dict[str, str]) -> None:
    inputs: list[str] = []
    outputs: list[str] = []
    kind = ""
    for number, value in fields(data):
        if number == 1:
            inputs.append(_text(value))
        elif number == 2:
            outputs.append(_text(value))
        elif number == 4:
            kind = _text(value)
    if kind == "Gather" and len(inputs) == 2:
        lookups.append((inputs[0], inputs[1]))
    elif kind in _PASSING and inputs and outputs:
        aliases[outputs[0]] = inputs[0]


def _origin(name: str, aliases: dict[str, str]) -> str:
    while name in aliases:
        name = aliases[name]
    return name


def _tensor(data: Any) -> tuple[str, list[int], int, list[Any]]:
    """Name, sizes, type, and location of external values; values are skipped."""
    name, dims, kind, where, location = "", [], 0, [], 0
    for number, value in fields(data):
        if number == 1:  # single or packed
            dims += [value] if isinstance(value, int) else list(_unpack_varints(value))
        elif number == 2:
            kind = int(value)
        elif number == 8:
            name = _text(value)
        elif number == 13:
            where.append(value)
        elif number == 14:
            location = int(value)
    return name, [int(size) for size in dims], kind, where if location == EXTERNAL else []


def _unpack_varints(data: Any) -> Iterator[int]:
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def _input(data: Any) -> ModelInput:
    parts: dict[int, Any] = dict(fields(data))
    name = _text(parts[1])
    tensor: dict[int, Any] = dict(fields(dict(fields(parts[2]))[1]))  # type: ignore[arg-type]
    if tensor.get(1) not in TYPES:
        raise DamagedError(f"its input {name} is of type {tensor.get(1)}, which numpy has not")
    sizes: list[int | str] = []
    for number, dimension in fields(tensor.get(2, b"")):
        size: dict[int, Any] = dict(fields(dimension)) if number == 1 else {}  # type: ignore[arg-type]
        length = int(size.get(1, 0))
        if abs(length) > MAX_SIZE:
            raise DamagedError(f"its input {name} has a size of {length}, more than {MAX_SIZE}")
        sizes.append(length if length > 0 else _text(size.get(2, b"")))
    return ModelInput(name=name, dtype=TYPES[int(tensor[1])], sizes=tuple(sizes))


def _text(value: Any) -> str:
    return bytes(value).decode()
