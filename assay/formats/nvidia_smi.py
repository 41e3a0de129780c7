"""nvidia-smi's series: `dmon`, and `--query-gpu=… --format=csv`; one result for each GPU."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from assay.core.formats import Content, Format
from assay.core.records import Result
from assay.formats import common

KIND = "nvidia-smi"
_SCALES = {"MiB": ("B", 2.0**20), "MB": ("B", 2.0**20), "KiB": ("B", 1024.0)}  # dmon's MB are MiB
_SCALES |= {"MHz": ("Hz", 1e6), "MB/s": ("B/s", 1e6), "mW": ("W", 1e-3)}
_HEAD = re.compile(r"^(?P<name>[a-z_][\w.]*)(?: \[(?P<unit>[^\]]*)\])?$")
_GPU = ("index", "gpu", "uuid", "pci.bus_id", "gpu_uuid", "gpu_bus_id", "name")  # which GPU it is
_TIME = ("timestamp", "Date", "Time")
_NUMBER = re.compile(r"^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$", re.IGNORECASE)


class _Column(NamedTuple):
    name: str
    unit: str


def matches(content: Content) -> bool:
    return _dmon_heads(content) is not None or bool(_csv_columns(content))


def read(content: Content) -> Sequence[Result]:
    table = _dmon(content) if _dmon_heads(content) else _csv(content)
    series: dict[str, dict[_Column, list[float]]] = {}
    texts: dict[str, dict[str, str]] = {}
    for row in table:
        gpu = next((row[column] for column in row if column.name in _GPU), "0")
        for column, cell in row.items():
            if column.name in _TIME or column.name in _GPU:
                texts.setdefault(gpu, {}).setdefault(column.name, cell)
            elif (value := _value(cell, column.unit)) is not None:
                series.setdefault(gpu, {}).setdefault(column, []).append(value)
    if not series:
        raise content.wrong("has no reading of a GPU")
    return [_result(gpu, columns, texts.get(gpu, {})) for gpu, columns in series.items()]


def _result(gpu: str, series: dict[_Column, list[float]], texts: dict[str, str]) -> Result:
    time = str(texts.get("timestamp", "")).replace("/", "-")
    return common.make_result(
        KIND,
        f"gpu{gpu}" if gpu.isdecimal() else gpu,
        [
            common.steady_samples(
                column.name, _SCALES.get(column.unit, (column.unit, 1.0))[0], values
            )
            for column, values in series.items()
        ],
        facts=common.scalars(texts, "nvidia-smi."),
        started=common.parse_time(time),
    )


def _value(cell: str, unit: str) -> float | None:
    """A cell in SI units; None for values that the GPU does not report (-, N/A)."""
    text = cell.removesuffix(unit).strip() if unit else cell.partition(" ")[0]
    if not _NUMBER.match(text):
        return None
    value = float(text) * _SCALES.get(unit, ("", 1.0))[1]
    return value if math.isfinite(value) else None


def _dmon_heads(content: Content) -> list[_Column] | None:
    """`# gpu    pwr  gtemp …` and below it `# Idx      W      C …`."""
    heads = [line[1:].split() for line in content.text.splitlines()[:50] if line.startswith("#")]
    if len(heads) < 2 or "gpu" not in heads[0] or len(heads[0]) != len(heads[1]):
        return None
    columns = [_Column(name, unit) for name, unit in zip(*heads[:2], strict=True)]
    return [column._replace(unit="°C") if column.unit == "C" else column for column in columns]


def _dmon(content: Content) -> Iterator[dict[_Column, str]]:
    columns = _dmon_heads(content) or []
    for line in content.text.splitlines():
        cells = line.split()
        if line.startswith("#") or not cells:
            continue
        if len(cells) != len(columns):
            raise content.wrong(f"has a line of {len(cells)} cells below {len(columns)} columns")
        yield dict(zip(columns, cells, strict=True))


def _csv_columns(content: Content) -> list[_Column]:
    """Columns such as `index, memory.used [MiB]`; empty if they are not of nvidia-smi."""
    first = content.text.lstrip().split("\n", 1)[0]
    heads = [_HEAD.match(cell.strip()) for cell in first.split(",")]
    names = [match["name"] for match in heads if match]
    is_header = len(names) == len(heads) and (
        "[" in first or any("." in name for name in names) or set(names) & {"pstate"}
    )
    known = [name for name in names if name in _GPU or name.partition(".")[0] in _FIELD_GROUPS]
    return [_Column(m["name"], m["unit"] or "") for m in heads if m] if is_header and known else []


_FIELD_GROUPS = {
    "memory",
    "utilization",
    "temperature",
    "power",
    "clocks",
    "fan",
    "pstate",
    "timestamp",
}


def _csv(content: Content) -> Iterator[dict[_Column, str]]:
    """The header may repeat if -f appended to a file."""
    columns = _csv_columns(content)
    for cells in _csv_cells(content):
        stripped = [cell.strip() for cell in cells]
        if not stripped or stripped[0].partition(" ")[0] == columns[0].name:
            continue
        if len(stripped) != len(columns):
            raise content.wrong(f"has a line of {len(stripped)} cells below {len(columns)} columns")
        yield dict(zip(columns, stripped, strict=True))


def _csv_cells(content: Content) -> Iterator[list[str]]:
    try:
        yield from csv.reader(content.text.splitlines(), skipinitialspace=True)
    except csv.Error as error:  # such as a cell of more than 128 KiB
        raise content.wrong(f"is no table ({error})") from None


PROVIDES = {
    KIND: Format(
        summary="nvidia-smi: dmon, and --query-gpu=… --format=csv",
        suffix=".txt",
        matches=matches,
        read=read,
    )
}
