"""Small files that expand to much: each is refused in one sentence, or read."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import pytest

from assay.core.errors import AssayError
from assay.datasets.pickles import load_arrays
from assay.formats import parquet, rows
from assay.measure.import_file import read_file
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
