"""One row per value as comma-separated text, for spreadsheets and other tools."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from assay.core.findings import SummarizedResult
from assay.core.formats import Content, Format
from assay.core.records import Result
from assay.formats import common, rows

KIND = "csv"


def matches(content: Content) -> bool:
    return content.text.split("\n", 1)[0].rstrip("\r") == ",".join(rows.COLUMNS)


def read(content: Content) -> Sequence[Result]:
    try:
        table = list(csv.DictReader(io.StringIO(content.text)))
    except csv.Error as error:  # such as a cell of more than 128 KiB
        raise content.wrong(f"is no table ({error})") from None
    short = next(
        (index for index, row in enumerate(table) if None in row.values() or None in row), None
    )
    if short is not None:
        raise content.wrong(f"has a row {short + 1} that does not fit its columns")
    return rows.results(content, KIND, table)


def write(readings: Iterable[SummarizedResult]) -> bytes:
    file = io.StringIO()
    writer = csv.DictWriter(file, rows.COLUMNS, lineterminator="\n")
    writer.writeheader()
    count = 0
    for reading in readings:
        for row in rows.rows(reading.result):
            writer.writerow({**row, "value": repr(row["value"])})
            count += 1
    if not count:
        raise common.no_values_error(KIND)
    return file.getvalue().encode()


PROVIDES = {
    KIND: Format(
        summary="a row a value, as comma-separated text",
        suffix=".csv",
        matches=matches,
        read=read,
        write=write,
    )
}
