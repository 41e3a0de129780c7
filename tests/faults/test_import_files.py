"""Files with odd values for `assay import`: each is read, or refused in one sentence."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from random import Random

import pytest

from assay.core import codec
from assay.core.errors import AssayError
from assay.core.findings import SummarizedResult
from assay.core.records import Result
from assay.measure.import_file import read_file
from assay.reporting import results as table
from assay.reporting.output.text import render
from assay.stats.summary import summarize
from tests.faults import specimens

FILES = {"short": 60, "long": 3000}  # of each format


def _kinds() -> list[object]:
    real = pytest.mark.real("pyarrow")
    return [pytest.param(k, marks=real) if k == "parquet" else k for k in specimens.KINDS]


@pytest.mark.parametrize("length", ["short", pytest.param("long", marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", _kinds())
def test_a_file_is_read_or_refused_in_one_sentence(kind, length, tmp_path, capsys):
    """`ASSAY_FAULT_SEED` repeats a run; the seed is printed."""
    usual = 17 if length == "short" else int.from_bytes(os.urandom(4))
    seed = int(os.environ.get("ASSAY_FAULT_SEED", usual))
    with capsys.disabled():
        print(f"\n{kind}: {FILES[length]} files, ASSAY_FAULT_SEED={seed}")
    wrong: dict[str, str] = {}
    read = 0
    for number in range(FILES[length]):
        path = tmp_path / "file"
        path.write_bytes(specimens.file_with_fault(kind, Random(f"{seed}-{kind}-{number}")))
        try:
            read += _import(path)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            wrong.setdefault(f"{type(error).__name__} in {where.name}: {error}"[:200], str(number))

    assert wrong == {}
    assert read > FILES[length] / 20  # the faults are small enough for some files


def _import(path: Path) -> bool:
    """All that a command does with the results; False if the file is refused."""
    try:
        results = read_file(path).results
    except AssayError as error:
        assert str(error).isprintable() or "\n" not in str(error)
        return False
    for result in results:
        assert codec.decode(codec.encode(result), Result, "it").case.key == result.case.key
        reading = SummarizedResult(result=result, summary=summarize(result))
        assert render(table.output([reading]), 100)
    return True


def test_the_specimens_are_read_and_every_format_has_one(tmp_path):
    from assay.core import registry

    path = tmp_path / "file"
    for kind, document in specimens.JSON.items():
        path.write_bytes(specimens._json(document))
        assert read_file(path).kind == kind
    formats = registry.all_plugins("formats")[0]
    assert {name for name, form in formats.items() if form.read} <= set(specimens.KINDS)
