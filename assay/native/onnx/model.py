"""An ONNX file as records: nodes, weights, inputs and outputs, read by our own protobuf."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay.core import protobuf
from assay.core.errors import UsageError
from assay.core.external_data import EXTERNAL, external_data
from assay.native.graph import Array

# Of TensorProto.DataType; others are refused where they are met.
DTYPES = {1: "<f4", 2: "u1", 3: "i1", 4: "<u2", 5: "<i2", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2"}
DTYPES |= {11: "<f8", 12: "<u4", 13: "<u8"}
TYPES = {**{number: np.dtype(text).name for number, text in DTYPES.items()}, 8: "string"}
TYPES |= {14: "complex64", 15: "complex128", 16: "bfloat16", 17: "float8e4m3fn"}
TYPES |= {18: "float8e4m3fnuz", 19: "float8e5m2", 20: "float8e5m2fnuz", 21: "uint4", 22: "int4"}
TYPES |= {23: "float4e2m1", 24: "float8e8m0", 25: "uint2", 26: "int2"}
MAX_SIZE = 2**31 - 1  # of an axis, a stride, a pad or a kernel
MAX_VALUES = 2**28  # of an array that is made while a file is read
_POSITIVE = {"strides", "dilations", "kernel_shape"}
_SIZES = _POSITIVE | {"pads", "output_padding", "output_shape"}
# fields of a tensor that is not raw
_FLOATS, _WHOLE32, _WHOLE64, _DOUBLES, _UNSIGNED64 = 4, 5, 7, 10, 11


class OnnxValue(msgspec.Struct, frozen=True):
    name: str
    dtype: int
    shape: tuple[int, ...] | None  # None: not known; 0: not known, or empty

    @property
    def text(self) -> str:
        return f"{self.shape}, where 0 is not known" if self.shape is not None else "unknown"


class OnnxOp(msgspec.Struct, frozen=True):
    """One node of the file."""

    kind: str
    inputs: tuple[str, ...]  # "": left out
    outputs: tuple[str, ...]
    name: str
    attributes: Mapping[str, Any]
    domain: str = ""
    opset: int = 0  # of the file


class OnnxModel(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    opset: int
    nodes: tuple[OnnxOp, ...]
    weights: Mapping[str, Array]
    inputs: tuple[OnnxValue, ...]  # that are no weights
    outputs: tuple[OnnxValue, ...]


def read_model(path: str | Path) -> OnnxModel:
    place = Path(path).expanduser()
    if not place.is_file():
        raise UsageError(f"There is no ONNX file {path}.", hint="Export the model into it first.")
    try:
        return model_of(place.read_bytes(), place)
    except (protobuf.DamagedError, UnicodeDecodeError, IndexError, ValueError) as error:
        raise UsageError(
            f"{path} is no ONNX file that can be read ({error}).", hint="Is it whole?"
        ) from None


def model_of(data: bytes, path: Path) -> OnnxModel:
    """`path` is what the model is named by, and what other files lie beside."""
    parts = _group_fields(data)
    opsets = [_group_fields(each) for each in parts.get(8, [])]
    names = (b"", b"ai.onnx")
    opset = next((_last(each, 2, 0) for each in opsets if _last(each, 1, b"") in names), 0)
    graph = _group_fields(_last(parts, 7, b""))
    if not graph:
        raise protobuf.DamagedError("it holds no graph")
    if not opset:
        raise unsupported_file(f"{path.name} imports no opset of ai.onnx.")
    if 15 in graph:
        raise unsupported_file(f"{path.name} holds sparse weights.")
    weights = dict(_tensor(each, path) for each in graph.get(5, []))
    inputs = tuple(_value(each) for each in graph.get(11, []))
    return OnnxModel(
        name=path.stem,
        opset=opset,
        nodes=tuple(_op(each, path, opset) for each in graph.get(1, [])),
        weights=weights,
        inputs=tuple(value for value in inputs if value.name not in weights),
        outputs=tuple(_value(each) for each in graph.get(12, [])),
    )


def _group_fields(data: Any) -> dict[int, list[Any]]:
    """The values of each field of a message, in their order."""
    by_field: dict[int, list[Any]] = {}
    for field, value in protobuf.fields(protobuf.read_bytes(data)):
        by_field.setdefault(field, []).append(value)
    return by_field


def _last(parts: Mapping[int, list[Any]], field: int, default: Any) -> Any:
    """A field that is there once, of the kind of what stands for it where it is not."""
    value = parts.get(field, [default])[-1]
    return (
        protobuf.read_bytes(value)
        if isinstance(default, bytes)
        else int(protobuf.read_number(value))
    )


def _text(parts: Mapping[int, list[Any]], field: int) -> str:
    return str(_last(parts, field, b"").decode())


def _op(data: bytes, path: Path, opset: int) -> OnnxOp:
    parts = _group_fields(data)
    attributes = dict(_attribute(each, path) for each in parts.get(5, []))
    for name in _SIZES & attributes.keys():
        least = 1 if name in _POSITIVE else -MAX_SIZE
        if not all(isinstance(n, int) and least <= n <= MAX_SIZE for n in attributes[name] or ()):
            raise protobuf.DamagedError(f"a {_text(parts, 4)} has {name} of {attributes[name]}")
    return OnnxOp(
        kind=_text(parts, 4),
        inputs=tuple(protobuf.read_bytes(each).decode() for each in parts.get(1, [])),
        outputs=tuple(protobuf.read_bytes(each).decode() for each in parts.get(2, [])),
        name=_text(parts, 3),
        attributes=attributes,
        domain=_text(parts, 7),
        opset=opset,
    )


def _attribute(data: bytes, path: Path) -> tuple[str, Any]:
    """Its name, and its value in the field of its kind."""
    parts = _group_fields(data)
    name, kind = _text(parts, 1), _last(parts, 20, 0)
    if kind == 1:
        return name, float(protobuf.read_number(parts.get(2, [0.0])[-1]))
    if kind == 2:
        return name, _last(parts, 3, 0)
    if kind == 3:
        return name, _last(parts, 4, b"").decode(errors="replace")
    if kind == 4:
        return name, _tensor(_last(parts, 5, b""), path)[1]
    if kind in (6, 7):  # floats, ints
        return name, tuple(_numbers(parts.get(kind + 1, []), "<f4" if kind == 6 else ""))
    return name, None  # a graph or a list of texts, which no operation here reads


def _numbers(values: list[Any], packed: str) -> Iterator[Any]:
    """One by one, or many packed into bytes: floats, or integers where `packed` is ""."""
    for value in values:
        if not isinstance(value, bytes):
            yield value
        elif packed:
            yield from np.frombuffer(value, packed).tolist()
        else:
            yield from protobuf.varints(value)


def _tensor(data: bytes, path: Path) -> tuple[str, Array]:
    parts = _group_fields(data)
    name, kind = _text(parts, 8), _last(parts, 2, 0)
    if kind not in DTYPES:
        supported = ", ".join(TYPES[each] for each in DTYPES)
        raise unsupported_file(
            f"The weights '{name or 'of a Constant'}' are of type {type_name(kind)}; "
            f"supported: {supported}."
        )
    dims = tuple(_numbers(parts.get(1, []), ""))
    if _last(parts, 14, 0) == EXTERNAL:
        external = external_data(path, parts.get(13, []))
        count = math.prod(dims)
        if external.length < count * np.dtype(DTYPES[kind]).itemsize:
            raise protobuf.DamagedError(
                f"{external.length} bytes are too few for '{name}' of {dims}"
            )
        return name, np.fromfile(
            external.path, DTYPES[kind], count, offset=external.offset
        ).reshape(dims)
    if 9 in parts:
        return name, np.frombuffer(_last(parts, 9, b""), DTYPES[kind]).reshape(dims)
    packed = {_FLOATS: "<f4", _DOUBLES: "<f8", _WHOLE32: "", _WHOLE64: ""}
    packed |= {_UNSIGNED64: ""}
    numbers = [n for field, how in packed.items() for n in _numbers(parts.get(field, []), how)]
    if kind == 10:  # a float16 is held by its bits
        return name, np.array(numbers, np.uint16).view(np.float16).reshape(dims)
    if kind == 13:  # varints are read as int64
        return name, np.array(numbers, np.int64).view(np.uint64).reshape(dims)
    return name, np.array(numbers, DTYPES[kind]).reshape(dims)


def check_size(shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of an array that is made while a file is read; UsageError if it is too large."""
    if math.prod(shape) > MAX_VALUES or any(size < 0 for size in shape):
        sizes = " x ".join(str(size) for size in shape)
        raise unsupported_file(
            f"A node makes an array of {sizes} values; up to {MAX_VALUES} are computed."
        )
    return tuple(shape)


def type_name(kind: int) -> str:
    return TYPES.get(kind, f"number {kind}")


def unsupported_file(sentence: str) -> UsageError:
    return UsageError(sentence, hint="onnxruntime and openvino run such a model as it is.")


def _value(data: bytes) -> OnnxValue:
    parts = _group_fields(data)
    tensor = _group_fields(_last(_group_fields(_last(parts, 2, b"")), 1, b""))
    dims = _group_fields(_last(tensor, 2, b"")).get(1, []) if 2 in tensor else None
    name = _text(parts, 1)
    shape = None if dims is None else tuple(_last(_group_fields(dim), 1, 0) for dim in dims)
    if large := [size for size in shape or () if abs(size) > MAX_SIZE]:
        raise protobuf.DamagedError(f"'{name}' has a size of {large[0]}, more than {MAX_SIZE}")
    return OnnxValue(name=name, dtype=_last(tensor, 1, 0), shape=shape)
