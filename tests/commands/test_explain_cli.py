"""assay explain: the tables and the document."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from assay.core.records import Environment
from assay.core.registry import open_store
from tests.commands.history.test_history import HERE, keep_series


@pytest.fixture
def ids(home) -> list[str]:
    def environment(night: int) -> Environment:
        return Environment(machine=HERE, variables={"OMP_NUM_THREADS": str(night)})

    with closing(open_store(home)) as store:
        return [r.id for r in keep_series(store, [0.02, 0.04], environment=environment)]


def test_numbers_first_then_reasons(assay, ids):
    status, out, _ = assay("explain", *ids)

    assert status == 0
    assert "step_time" in out and "2.00 times" in out and "differs" in out
    assert "it sets the number of threads" in out


def test_json_is_the_explanation(assay, ids):
    found = json.loads(assay("explain", *ids, "--format", "json")[1])

    assert (found["kind"], found["changed"][0]["what"]) == ("explanation", "OMP_NUM_THREADS")


def test_an_unknown_result_is_one_sentence(assay, ids):
    status, _, error = assay("explain", ids[0], "nothing")

    assert status == 2
    assert "There is no run named 'nothing'" in error
