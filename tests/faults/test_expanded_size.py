"""Small files that expand to much: each is refused in one sentence, or read."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import pytest

from assay.core.errors import AssayError
from assay.core.protobuf import encode_bytes, encode_int, encode_text
from assay.datasets.pickles import load_arrays
from assay.formats import onnx_header, parquet, rows
from assay.measure.import_file import read_file
from assay.native.onnx.read import read_onnx
from tests.formats.test_round_trips import RESULT


def nested(levels: int, leaf: bytes, twice: bytes) -> bytes:
    """A value that holds itself twice on every level, by the memo of a pickle."""
    parts = [leaf, b"q\x00"]
    for level in range(levels):
        parts += [b"h" + bytes([level]), b"h" + bytes([level]), twice, b"q" + bytes([level + 1])]
    return b"".join(parts)


PICKLES = {
    "a number of bytes beyond memory": b"\x80\x04\x8e" + b"\xff" * 7 + b"\x7f.",
    "nested tuples as a key": b"}" + nested(60, b"K\x01", b"\x86") + b"K\x01s.",
    "nested tuples as one of several keys": b"}(" + nested(60, b"K\x01", b"\x86") + b"K\x01u.",
    "nested tuples as a key of a new dict": b"(" + nested(60, b"K\x01", b"\x86") + b"K\x01d.",
    "nested tuples in a set": b"\x8f(" + nested(60, b"K\x01", b"\x86") + b"\x90.",
    "nested tuples in a frozen set": b"(" + nested(60, b"K\x01", b"\x86") + b"\x91.",
    "nested tuples as a value": b"}U\x06labels" + nested(60, b"K\x01", b"\x86") + b"s.",
}


@pytest.mark.parametrize("name", PICKLES)
def test_a_small_pickle_is_refused(name, tmp_path):
    (tmp_path / "it.pickle").write_bytes(PICKLES[name])

    with pytest.raises(AssayError, match=r"is cut or wrong"):
        load_arrays(tmp_path / "it.pickle")


def test_a_text_that_is_encoded_again_and_again_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.datasets.pickles.MAX_BYTES", 10_000)
    text = b"X\xe8\x03\x00\x00" + b"x" * 1000 + b"q\x00"
    encode = b"c_codecs\nencode\nq\x01" + b"U\x06latin1q\x02"
    (tmp_path / "it.pickle").write_bytes(
        b"(" + text + encode + b"h\x01h\x00h\x02\x86R" * 50 + b"l."
    )

    with pytest.raises(AssayError, match="expands to more than"):
        load_arrays(tmp_path / "it.pickle")


def test_a_place_of_the_memo_takes_no_memory(tmp_path):
    (tmp_path / "it.pickle").write_bytes(b"}r\xff\xff\xff\x7f.")

    assert load_arrays(tmp_path / "it.pickle") == {}


def test_a_usual_pickle_is_read(tmp_path):
    (tmp_path / "it.pickle").write_bytes(pickle.dumps({b"labels": [1, 2], b"names": [b"a"]}, 2))

    assert load_arrays(tmp_path / "it.pickle") == {b"labels": [1, 2], b"names": [b"a"]}


HUGE = (2**31, 2**63 - 1, 2**63, 2**64 - 1)


def _onnx(node: bytes, size: object, *tensors: bytes) -> bytes:
    """A model of one node that reads `x` of (batch, 3, size, size)."""
    dims = b"".join(
        encode_bytes(1, encode_text(2, n) if isinstance(n, str) else encode_int(1, n))
        for n in ("batch", 3, size, size)
    )
    kind = encode_bytes(1, encode_int(1, 1) + encode_bytes(2, dims))
    values = [encode_text(1, name) + encode_bytes(2, kind) for name in ("x", "y")]
    graph = encode_bytes(1, node) + encode_text(2, "g")
    graph += b"".join(encode_bytes(5, tensor) for tensor in tensors)
    graph += encode_bytes(11, values[0]) + encode_bytes(12, values[1])
    return encode_int(1, 9) + encode_bytes(7, graph) + encode_bytes(8, encode_int(2, 20))


def _node(kind: str, inputs: str, **attributes: list[int]) -> bytes:
    node = b"".join(encode_text(1, name) for name in inputs)
    node += encode_text(2, "y") + encode_text(4, kind)
    for name, numbers in attributes.items():
        values = b"".join(encode_int(8, number) for number in numbers)
        node += encode_bytes(5, encode_text(1, name) + values + encode_int(20, 7))
    return node


def _integers(name: str, numbers: list[int]) -> bytes:
    raw = b"".join((number % 2**63).to_bytes(8, "little") for number in numbers)
    return (
        encode_int(1, len(numbers)) + encode_int(2, 7) + encode_text(8, name) + encode_bytes(9, raw)
    )


def _pool(**attributes: list[int]) -> bytes:
    return _onnx(_node("MaxPool", "x", **({"kernel_shape": [2, 2]} | attributes)), 8)


ONNX = {
    "a stride of 0": _pool(strides=[0, 0]),
    "a dilation of 0": _pool(dilations=[0, 0]),
    "a kernel of 0": _pool(kernel_shape=[0, 0]),
    **{f"an input of {n}": _onnx(_node("Relu", "x"), n) for n in HUGE[:2]},
    **{f"strides of {n}": _pool(strides=[n, n]) for n in HUGE},
    **{f"pads of {n}": _pool(pads=[n, n, n, n]) for n in HUGE[:3]},
    **{f"a kernel of {n}": _pool(kernel_shape=[n, n]) for n in HUGE},
    **{
        f"{kind} to {n}": _onnx(_node(kind, "xs"), 1, _integers("s", [1, 1, 1, n]))
        for kind in ("Expand", "Tile")
        for n in HUGE[:2]
    },
    **{
        f"Pad by {n}": _onnx(_node("Pad", "xs"), 1, _integers("s", [0] * 7 + [n])) for n in HUGE[:2]
    },
}


@pytest.mark.parametrize("name", ONNX)
def test_sizes_of_an_onnx_file_are_refused_before_memory_is_used(name, tmp_path):
    (tmp_path / "it.onnx").write_bytes(ONNX[name])

    with pytest.raises(AssayError) as caught:
        read_onnx(tmp_path / "it.onnx")

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", HUGE[:2])
def test_the_size_of_an_input_is_refused_by_every_backend(size, tmp_path):
    (tmp_path / "it.onnx").write_bytes(_onnx(_node("Relu", "x"), size))

    with pytest.raises(AssayError, match=f"a size of {size}"):
        onnx_header.read(tmp_path / "it.onnx")


def _repeated(values: list[object], count: int) -> object:
    import pyarrow as arrow

    return arrow.DictionaryArray.from_arrays(arrow.array([0] * count), arrow.array(values))


def _parquet(path: Path, count: int, **columns: object) -> Path:
    """Equal rows, with other columns in place of some."""
    import pyarrow as arrow
    import pyarrow.parquet

    row = next(rows.rows(RESULT))
    table = {name: _repeated([row[name]], count) for name in rows.COLUMNS} | columns
    file = io.BytesIO()
    arrow.parquet.write_table(arrow.table(table), file, compression="zstd")
    path.write_bytes(file.getvalue())
    return path


@pytest.mark.real("pyarrow")
def test_a_small_parquet_file_of_many_rows_is_refused(tmp_path):
    path = _parquet(tmp_path / "it.parquet", parquet.MAX_ROWS + 1)
    assert path.stat().st_size < 1 << 20

    with pytest.raises(AssayError, match="rows, more than 500000"):
        read_file(path)


@pytest.mark.real("pyarrow")
def test_a_long_text_of_many_rows_is_one_object(tmp_path):
    count = 3_000
    path = _parquet(tmp_path / "it.parquet", count, label=_repeated(["x" * 1_000_000], count))
    assert path.stat().st_size < 1 << 20

    (result,) = read_file(path).results

    assert sum(len(part.values) for part in result.samples) == count


@pytest.mark.real("pyarrow")
@pytest.mark.parametrize("value", [[1, 2], {"a": 1}])
def test_a_column_of_another_type_is_refused(tmp_path, value):
    path = _parquet(tmp_path / "it.parquet", 2, label=[value] * 2)

    with pytest.raises(AssayError, match="has label of the type"):
        read_file(path)
