"""Benchmark classes as functions: trials in order, packages looked into, labels compared."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.commands.bench import api
from assay.core.errors import UsageError
from assay.formats.perfzero.messages import BenchSetting

DATA = str(Path(__file__).parents[2] / "data")
SETTING = BenchSetting(python_path=(DATA,), timeout=60)
FINE = "bench_endings.Endings.benchmark_fine"


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
        "my_pkg.bad": "module 'my_pkg.bad' needs 'not_installed_anywhere', which is not installed",
        "my_pkg.worse": "ZeroDivisionError: division by zero",
    }


def test_a_package_that_is_not_there_is_an_error():
    with pytest.raises(UsageError, match="there is no module 'no_such'"):
        assay.benchmarks("no_such.pkg")


def test_whoever_watches_is_told_of_a_method_when_it_begins():
    told = []

    found = api.bench(FINE, setting=SETTING, progress=lambda *begun: told.append(begun))
    benched = next(found)

    assert told == [(benched.method, 1)]


@pytest.mark.parametrize(
    ("names", "trials", "complaint"),
    [
        ((FINE,), 0, "trials is 0"),
        (("fine",), 1, "names no method of a class"),
        ((), 1, "No benchmark method was named"),
    ],
)
def test_bad_input_is_refused_by_the_call_and_nothing_is_kept(home, names, trials, complaint):
    with pytest.raises(UsageError, match=complaint):
        api.bench(*names, setting=SETTING, trials=trials)

    assert not home.exists()


def test_two_labels_are_compared_over_what_both_have():
    both = ("bench_endings.Endings.benchmark_named", FINE)
    list(api.bench(*both, setting=SETTING, label="before"))
    list(api.bench(FINE, setting=SETTING, label="after"))

    found = api.bench_differences("before", "after").differences

    assert {one.key for one in found} == {f"{FINE}@bench"}
    assert {"wall_time", "accuracy"} <= {one.metric for one in found}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"timeout": "soon"}, "'soon' is not a duration"),
        ({"timeout": 0}, "timeout is 0, but has to be more than 0 s"),
        ({"constructor_args": "{"}, "--constructor-args is no JSON"),
        ({"profile": "9:3"}, "ends before it begins"),
    ],
)
def test_an_option_that_cannot_be_read_is_refused(home, options, complaint):
    with pytest.raises(UsageError, match=complaint):
        assay.bench(FINE, **options)

    assert not home.exists()


def test_options_make_the_setting_that_a_method_gets():
    setting = api.make_setting(60, "", (DATA,), "/somewhere", {"size": 3}, True, "0:1")

    assert setting == BenchSetting(
        python_path=(str(DATA),),
        root_data_dir="/somewhere",
        constructor_args={"size": 3},
        plain=True,
        windows=((0.0, 1.0),),
        timeout=60.0,
    )


def test_an_older_keyword_still_names_the_store(tmp_path):
    with (
        pytest.warns(DeprecationWarning, match=r"bench_differences\(store=…\)"),
        pytest.raises(UsageError, match="under the label 'before'"),
    ):
        api.bench_differences("before", "after", home=tmp_path)


def test_trials_without_end_are_begun_one_by_one():
    trials = api.bench(FINE, setting=SETTING, trials=10**22)

    assert next(trials).trial == 1
    trials.close()
