"""Runs from elsewhere: copied whole into the store, and nowhere else."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from assay import readings
from assay.core import codec
from assay.core.errors import AssayError, StoreError, UsageError
from assay.registry import open_store
from assay.verbs.import_ import adopt
from tests.stores.test_sql import stored


@pytest.fixture
def elsewhere(tmp_path) -> list[Path]:
    """Two run folders of another home, of two results each."""
    with closing(open_store(tmp_path / "elsewhere")) as store:
        return [store.folder(stored(store, 2)[0].run) for _ in range(2)]


def test_several_runs_are_taken_in_with_all_their_results(elsewhere):
    found = adopt(*elsewhere)

    assert found == [f"{run.name}/{number}" for run in elsewhere for number in ("001", "002")]
    assert {reading.result.id for reading in readings()} == set(found)


def test_what_lies_beside_a_result_comes_with_it(elsewhere, home):
    (elsewhere[0] / "001" / "worker.log").write_text("what it printed")

    adopt(elsewhere[0])

    copied = home / "runs" / elsewhere[0].name / "001" / "worker.log"
    assert copied.read_text() == "what it printed"


def test_a_damaged_result_is_refused_and_nothing_of_its_run_is_copied(elsewhere, home):
    (elsewhere[0] / "002" / "result.json").write_text("{")

    with pytest.raises(StoreError, match=r"002/result\.json is not readable JSON"):
        adopt(elsewhere[0])

    assert list((home / "runs").iterdir()) == []


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"is no run folder: it holds no NNN/result\.json"):
        adopt(tmp_path)


def test_a_result_whose_id_leads_out_of_the_store_is_refused(elsewhere, home):
    file = elsewhere[0] / "001" / "result.json"
    result = msgspec.json.decode(file.read_bytes()) | {"id": "../../escaped/001"}
    file.write_bytes(codec.encode(result))

    with pytest.raises(AssayError):
        adopt(elsewhere[0])

    assert not (home.parent / "escaped").exists()
