"""Runs that the version before the house was rebuilt kept are still read, shown and known."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import assay as package
from assay.core.registry import open_store
from assay.stores.runs import verb_of

GOLDEN = Path(__file__).parents[1] / "golden" / "runs"
# ending of the run's name → the command that made it; all but the task's plan say "run"
VERBS = {
    "u3xh": "run",
    "4vvv": "ab",
    "6km5": "race",
    "ehzt": "task",
    "58x8": "run",
    "qucz": "study",
}


@pytest.fixture(autouse=True)
def kept(home):
    shutil.copytree(GOLDEN, home / "runs")


def test_every_result_is_read(home):
    files = sorted(path.parent for path in GOLDEN.glob("*/*/result.json"))

    found = package.readings()

    assert {one.result.id for one in found} == {f"{p.parent.name}/{p.name}" for p in files}
    assert all(one.summary.quantities for one in found if one.result.status == "ok")


@pytest.mark.parametrize(("ending", "verb"), VERBS.items())
def test_a_run_knows_its_verb_though_its_plan_does_not_say_it(home, ending, verb):
    store = open_store(home)
    found = verb_of(store, store.find_run(ending))
    store.close()

    assert found == verb


@pytest.mark.parametrize("ending", VERBS)
def test_what_is_shown_has_the_fields_and_raw_facts_it_had(assay, ending):
    before = json.loads(next(GOLDEN.glob(f"*{ending}/shown.json")).read_text())

    status, out, _ = assay("show", ending, "--format", "json")

    now = json.loads(out)
    assert status == 0
    assert shape(before) <= shape(now)
    assert (now["schema"], now["kind"]) == (before["schema"], before["kind"])
    for one, other in zip(before.get("results", ()), now.get("results", ()), strict=True):
        other["procedure"] = {name: other["procedure"][name] for name in one["procedure"]}
        assert {name: one[name] for name in RAW} == {name: other[name] for name in RAW}


def test_a_comparison_that_did_not_keep_its_request_cannot_go_on(assay):
    status, _, err = assay("ab", "--resume", "4vvv")

    assert status == 2
    assert "did not store its options" in err
    assert "Runs of assay ab cannot be resumed: start it again." in err


RAW = ("id", "status", "reason", "started", "case", "procedure", "items", "facts", "peaks")


def shape(document: object, path: str = "") -> set[str]:
    """Every field a document has, by its path; lists count as their items."""
    if isinstance(document, dict):
        deeper = (shape(value, f"{path}.{name}") for name, value in document.items())
        return {path}.union(*deeper) if document else {path}
    if isinstance(document, list):
        return {path}.union(*(shape(item, f"{path}[]") for item in document))
    return {path}
