"""Benchmark methods: whatever one does, there is a result. Each is a real child process."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import assay
from assay.commands.bench.process import case_of
from assay.formats.perfzero.messages import BenchResult, BenchSetting
from assay.formats.perfzero.names import Method

DATA = str(Path(__file__).parents[2] / "data")
SETTING = BenchSetting(python_path=(DATA,), timeout=60)


def run(name: str, setting: BenchSetting = SETTING) -> BenchResult:
    return next(iter(assay.bench(f"bench_endings.{name}", setting=setting)))


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("fine", "ok", ""),
        ("out_of_bounds", "failed", "accuracy is 0.8, below its minimum of 0.9"),
        ("not_a_number", "failed", "loss is not a number"),
        ("raises", "failed", "ValueError: no good"),
        ("silent", "ok", ""),
        ("says_no", "failed", "top_1 did not succeed: too low"),
        ("exits", "crashed", "ended with exit status 3"),
        ("leaves", "crashed", "ended with exit status 0"),
        ("segfaults", "crashed", "SIGSEGV"),
        ("is_killed", "crashed", "SIGKILL"),
        ("skips", "skipped", "needs eight GPUs"),
        ("misspelt", "failed", "There is no method of bench_endings.Endings named"),
    ],
)
def test_every_ending_is_a_result(name, status, reason):
    benched = run(f"Endings.benchmark_{name}")

    assert benched.result.status == status
    assert reason in benched.result.reason
    assert bool(benched.result.reason) == bool(reason)
    assert assay.read_results()[-1].result.id == benched.result.id


def test_a_hang_is_a_timeout_and_what_was_reported_before_is_kept():
    benched = run("Endings.benchmark_hangs", BenchSetting(python_path=(DATA,), timeout=4))

    assert (benched.result.status, benched.result.reason) == ("timeout", "not finished after 4 s")
    assert benched.result.values("wall_time") == (0.1,)


@pytest.mark.parametrize("name", ["raises", "segfaults"])
def test_reports_before_an_ending_are_kept(name):
    benched = run(f"Endings.benchmark_{name}")

    assert [entry.name for entry in benched.entries] == ["Endings.before"]
    assert benched.has_exception


def test_no_report_is_said():
    benched = run("Endings.benchmark_silent")

    assert "no report was made" in benched.result.facts["note"]
    assert not benched.has_exception


def test_all_reports_are_kept_as_they_came():
    several = run("Endings.benchmark_several").result
    twice = run("Endings.benchmark_same_name_twice").result

    assert several.values("wall_time") == (0.1,)
    assert several.values("size_2/wall_time") == (0.2,)
    assert (several.values("size"), several.values("size_2/size")) == ((1.0,), (2.0,))
    assert twice.values("wall_time") == (0.1,)
    assert twice.values("benchmark_same_name_twice#2/wall_time") == (0.2,)


def test_a_result_has_times_peaks_and_where_it_ran():
    result = run("Endings.benchmark_fine").result

    assert result.values("open_time", "open")[0] > 0
    assert result.values("method_time")[0] > 0
    assert result.peaks["max_rss"] > 1 << 20
    assert result.environment.python["executable"]
    assert (result.case.workload, result.case.backend) == (
        "bench_endings.Endings.benchmark_fine",
        "bench",
    )


def test_a_case_is_named_by_its_method_and_the_users_own_arguments():
    setting = BenchSetting(constructor_args={"size": "big"})

    found = case_of(Method("module", "Class", "method"), setting)

    assert found.key == "module.Class.method:size=big@bench"


def test_a_method_may_have_dots_in_its_name():
    result = run("Dotted:benchmark__name.performance").result

    assert result.status == "ok"
    assert result.case.workload == "bench_endings.Dotted:benchmark__name.performance"


def test_what_looks_secret_reaches_the_class_but_is_not_kept(home):
    setting = BenchSetting(python_path=(DATA,), constructor_args={"api_key": "hush-hush"})
    benched = run("Endings.benchmark_tells_its_constructor", setting)

    assert benched.entries[0].extras["api_key"] == "hush-hush"  # the class itself reported it
    assert "hush-hush" not in benched.result.case.key
    asked = (home / "runs" / benched.result.id / "asked.json").read_text()
    assert "hush-hush" not in asked


def test_a_method_may_change_its_folder(home, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_HOME", "relative")
    result = run("Endings.benchmark_changes_its_folder").result

    assert result.status == "ok"
    assert result.values("wall_time") == (0.5,)
    assert result.values("method_time")


def test_another_interpreter_can_run_it():
    setting = BenchSetting(python_path=(DATA,), python=sys.executable)

    assert run("Endings.benchmark_fine", setting).result.status == "ok"
    missing = run("Endings.benchmark_fine", BenchSetting(python="/no/such/venv")).result
    assert (missing.status, missing.reason) == (
        "skipped",
        "there is no Python interpreter at /no/such/venv",
    )


def test_the_reports_lie_in_the_run_folder_as_json(home):
    result = run("Endings.benchmark_not_a_number").result

    kept = json.loads((home / "runs" / result.id / "reports.json").read_text())
    assert kept[0]["metrics"][0]["value"] == "nan"
