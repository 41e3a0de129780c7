"""One row per value in Apache Parquet, for pandas, polars or DuckDB; large enough for a store."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from assay.core.errors import NotPossibleError
from assay.core.findings import SummarizedResult
from assay.core.formats import Content, Format
from assay.core.records import Result
from assay.formats import common, rows

KIND = "parquet"
MAGIC = b"PAR1"
# Of a file to import. What it expands to counts: a file of 0.4 MB can hold 5 million equal rows.
MAX_ROWS = 500_000  # each becomes a Python object
MAX_TEXT = 256 << 20  # characters of different texts
BATCH_ROWS = 50_000  # rows in memory while a store is written


def matches(content: Content) -> bool:
    return content.data.startswith(MAGIC) and content.data.endswith(MAGIC)


def read(content: Content) -> Sequence[Result]:
    arrow = _arrow()
    try:
        file = arrow.parquet.ParquetFile(io.BytesIO(content.data))
        missing = set(rows.COLUMNS) - set(file.schema_arrow.names)
        if missing:
            raise content.wrong(f"has no columns {', '.join(sorted(missing))}")
        if file.metadata.num_rows > MAX_ROWS:
            raise content.wrong(f"has {file.metadata.num_rows} rows, more than {MAX_ROWS}")
        _check_types(content, file.schema_arrow)
        # equal texts of a column are read once
        file = arrow.parquet.ParquetFile(io.BytesIO(content.data), read_dictionary=[*rows.TEXT])
        columns = {name: _values(content, file, name) for name in rows.COLUMNS}
        records = [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise content.wrong(f"is damaged ({common.plain(error)})") from None
    return rows.results(content, KIND, records)


def _check_types(content: Content, schema: Any) -> None:
    """Refuse lists and structs, which could expand to anything."""
    for field in schema:
        if field.type.num_fields:
            raise content.wrong(f"has {field.name} of the type {common.plain(field.type, 60)}")


def _values(content: Content, file: Any, name: str) -> list[Any]:
    """A column; equal texts are one object."""
    values: list[Any] = []
    size = 0
    for chunk in file.read(columns=[name]).column(0).chunks:
        if not hasattr(chunk, "dictionary"):
            values += chunk.to_pylist()
            continue
        if (size := size + chunk.dictionary.nbytes) > MAX_TEXT:
            raise content.wrong(f"has more than {MAX_TEXT >> 20} MiB of texts in {name}")
        texts = chunk.dictionary.to_pylist()
        values += [None if i is None else texts[i] for i in chunk.indices.to_pylist()]
    return values


def write(readings: Iterable[SummarizedResult]) -> bytes:
    arrow = _arrow()
    texts = [(name, arrow.dictionary(arrow.int32(), arrow.string())) for name in rows.TEXT]
    counts = [(name, arrow.int64()) for name in rows.COUNTS]
    schema = arrow.schema([*texts, *counts, ("value", arrow.float64())])
    records = (row for reading in readings for row in rows.rows(reading.result))
    file, count = io.BytesIO(), 0
    with arrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while batch := list(itertools.islice(records, BATCH_ROWS)):
            writer.write_table(arrow.Table.from_pylist(batch, schema=schema))
            count += len(batch)
    if not count:
        raise common.no_values_error(KIND)
    return file.getvalue()


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise NotPossibleError(
            "Parquet needs pyarrow, which is not installed.",
            hint="pip install 'assay-lab[parquet]'",
        ) from None
    return pyarrow


PROVIDES = {
    KIND: Format(
        summary="a row a value, as Apache Parquet (needs pyarrow)",
        suffix=".parquet",
        matches=matches,
        read=read,
        write=write,
    )
}
