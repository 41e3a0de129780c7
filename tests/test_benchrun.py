"""Benchmark methods: whatever one does, there is a result. Each is a real child process."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import assay
from assay.benches.asked import Benched, Setting
from assay.errors import UsageError

DATA = str(Path(__file__).parent / "data")
SETTING = Setting(python_path=(DATA,), timeout=60)


def run(name: str, setting: Setting = SETTING) -> Benched:
    return next(iter(assay.bench(f"bench_endings.{name}", setting=setting)))


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("fine", "ok", ""),
        ("out_of_bounds", "failed", "accuracy is 0.8, below its least of 0.9"),
        ("not_a_number", "failed", "loss is not a number"),
        ("raises", "failed", "ValueError: no good"),
        ("silent", "ok", ""),
        ("says_no", "failed", "top_1 did not succeed: too low"),
        ("exits", "crashed", "left with exit status 3"),
        ("leaves", "crashed", "left with exit status 0"),
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
    assert assay.readings()[-1].result.id == benched.result.id


def test_a_hang_is_a_timeout_and_what_was_reported_before_is_kept():
    benched = run("Endings.benchmark_hangs", Setting(python_path=(DATA,), timeout=4))

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


def test_the_constructor_is_told_output_and_data_and_the_users_own(home):
    setting = Setting(
        python_path=(DATA,), root_data_dir="/somewhere", constructor_args={"size": "big"}
    )
    result = run("Endings.benchmark_tells_its_constructor", setting).result

    assert result.facts["output"] == str(home / "runs" / result.id / "output")
    assert (result.facts["data"], result.facts["size"]) == ("/somewhere", "big")
    assert result.case.key.endswith(":size=big@bench")
    assert run("Old.benchmark_it", setting=Setting(python_path=(DATA,), root_data_dir="/somewhere"))
    assert run("Plain.benchmark_it").result.status == "ok"


def test_a_plain_constructor_gets_nothing_but_the_users_own():
    setting = Setting(python_path=(DATA,), plain=True)
    result = run("Endings.benchmark_tells_its_constructor", setting).result

    assert result.facts["data"] == "None"


def test_a_constructor_that_refuses_says_what_it_was_given():
    result = run("Refuses.benchmark_never").result

    assert result.status == "failed"
    assert result.reason.startswith("the constructor of Refuses refused no arguments: TypeError")
    assert "must_have" in result.reason


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no_such.mod.Class.method", "there is no module 'no_such', asked for in 'no_such.mod'"),
        ("bench_endings.sub.Class.method", "there is no module 'bench_endings.sub'"),
        ("bench_needs.Class.method", "module 'bench_needs' needs 'not_installed_anywhere'"),
        ("bench_endings.Ending.x", "There is no class in module bench_endings named 'Ending'. Did"),
        ("bench_endings.signal.x", "bench_endings.signal is no class"),
    ],
)
def test_a_name_that_leads_nowhere_says_which_part_is_wrong(name, reason):
    result = next(iter(assay.bench(name, setting=SETTING))).result

    assert result.status == "failed"
    assert reason in result.reason


def test_a_method_may_have_dots_in_its_name():
    result = run("Dotted:benchmark__name.performance").result

    assert result.status == "ok"
    assert result.case.workload == "bench_endings.Dotted:benchmark__name.performance"


def test_a_filter_finds_callables_only_and_constructs_nothing():
    found = assay.bench("bench_endings.Refuses.filter:.*", setting=SETTING)

    assert [benched.method.method for benched in found] == ["benchmark_never"]


def test_a_filter_that_matches_nothing_is_an_error():
    with pytest.raises(UsageError, match=r"No method of .* matches 'nothing'"):
        assay.bench("bench_endings.Endings.filter:nothing", setting=SETTING)


def test_a_filter_on_a_missing_module_says_which_part():
    with pytest.raises(UsageError, match="there is no module 'no_such'"):
        assay.bench("no_such.Class.filter:.*", setting=SETTING)


def test_trials_repeat_the_whole_list():
    names = [f"bench_endings.Endings.benchmark_{name}" for name in ("fine", "silent")]
    found = list(assay.bench(*names, setting=SETTING, trials=2, label="twice"))

    order = [(benched.trial, benched.method.method) for benched in found]
    assert order == [
        (1, "benchmark_fine"),
        (1, "benchmark_silent"),
        (2, "benchmark_fine"),
        (2, "benchmark_silent"),
    ]
    assert [benched.result.id[-3:] for benched in found] == ["001", "002", "003", "004"]
    assert {benched.result.label for benched in found} == {"twice"}


def test_a_package_is_looked_into_without_running_anything():
    found = assay.benchmarks("bench_endings", python_path=[DATA])

    assert found.names["bench_endings.Endings.benchmark_fine"] == "All is well."
    assert "bench_endings.Dotted:benchmark__name.performance" in found.names
    assert not any("report_benchmark" in name for name in found.names)


def test_a_module_that_cannot_be_looked_into_does_not_hide_the_others(tmp_path):
    package = tmp_path / "my_pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "good.py").write_text("class A:\n    def benchmark_b(self): pass\n")
    (package / "bad.py").write_text("import not_installed_anywhere\n")
    (package / "worse.py").write_text("1 / 0\n")

    found = assay.benchmarks("my_pkg", python_path=[str(tmp_path)])

    assert found.names == {"my_pkg.good.A.benchmark_b": ""}
    assert found.problems == {
        "my_pkg.bad": "module 'my_pkg.bad' needs 'not_installed_anywhere', which is not here",
        "my_pkg.worse": "ZeroDivisionError: division by zero",
    }


def test_a_package_that_is_not_there_is_an_error():
    with pytest.raises(UsageError, match="there is no module 'no_such'"):
        assay.benchmarks("no_such.pkg")


def test_what_looks_secret_reaches_the_class_but_is_not_kept(home):
    setting = Setting(python_path=(DATA,), constructor_args={"api_key": "hush-hush"})
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
    setting = Setting(python_path=(DATA,), python=sys.executable)

    assert run("Endings.benchmark_fine", setting).result.status == "ok"
    missing = run("Endings.benchmark_fine", Setting(python="/no/such/venv")).result
    assert (missing.status, missing.reason) == (
        "skipped",
        "there is no Python interpreter at /no/such/venv",
    )


def test_the_reports_lie_in_the_run_folder_as_json(home):
    result = run("Endings.benchmark_not_a_number").result

    kept = json.loads((home / "runs" / result.id / "reports.json").read_text())
    assert kept[0]["metrics"][0]["value"] == "nan"
