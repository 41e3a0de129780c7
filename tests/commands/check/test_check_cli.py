"""assay check: formats and exit status."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from contextlib import closing

import pytest

from assay.core.records import Case
from assay.core.registry import open_store
from tests.commands.history.test_history import keep_series, nights


@pytest.fixture
def suite(home) -> None:
    with closing(open_store(home)) as store:
        named = Case(workload="<w>", backend="b", key="<w>@b")
        keep_series(store, nights(60, 53, 1.3), named)
        keep_series(store, nights(60, seed=2))
        keep_series(store, nights(3), workload_version="2")


def test_text_names_what_got_worse_and_leaves_with_5(assay, suite):
    status, out, _ = assay("check", "--fail-on", "step_time:3%")

    assert status == 5
    assert out.startswith("1 regression found in 3 series")
    assert "<w>@b" in out and "w@b  " not in out.replace("<w>@b", "")
    assert "3 points: cannot tell yet" in out


def test_all_lists_fine_ones_too(assay, suite):
    assert "fine: " in assay("check", "--all")[1]


def test_json_has_every_series(assay, suite):
    found = json.loads(assay("check", "--format", "json")[1])

    assert sorted(one["judgement"] for one in found["found"]) == [
        "fine",
        "not-comparable",
        "regression",
    ]


def test_junit_is_xml_with_a_case_a_series(assay, suite):
    tree = ET.fromstring(assay("check", "--format", "junit")[1])

    assert (tree.get("tests"), tree.get("failures"), tree.get("skipped")) == ("3", "1", "1")
    (failed,) = [case for case in tree if case.find("failure") is not None]
    assert failed.get("name") == "<w>@b step_time"


def test_markdown_is_a_table_for_a_pull_request(assay, suite):
    out = assay("check", "--format", "markdown")[1]

    assert out.startswith("### 1 regression found")
    assert "| <w>@b | step_time |" in out


def test_an_alert_is_sent_and_said(assay, suite, tmp_path):
    status, _, error = assay("check", "--alert", f"cmd:cp /dev/stdin {tmp_path}/alert.json")

    assert status == 5
    assert "delivered" in error
    assert json.loads((tmp_path / "alert.json").read_text())["kind"] == "check"


def test_a_threshold_that_does_not_parse_leaves_with_2(assay, suite):
    status, _, error = assay("check", "--fail-on", "step_time:much")

    assert status == 2
    assert "'step_time:much' is not a threshold." in error
