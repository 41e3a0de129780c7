"""assay.run_plan: a night measures, checks, alerts, and keeps what came of it."""

from __future__ import annotations

import subprocess
import textwrap

import pytest

import assay
from assay.commands.schedule import run_log
from assay.commands.schedule.run_log import PlanRunLine
from assay.core.errors import UsageError

WORK = """
def work():
    return lambda: sum(range(1000))


def fails():
    raise ValueError("no")
"""
BENCH = """
import assay


class Sums(assay.Benchmark):
    def benchmark_small(self):
        self.report_benchmark(iters=1, wall_time=0.5)
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work.py").write_text(WORK)
    return tmp_path


def plan(folder, text):
    path = folder / "nightly.toml"
    path.write_text(textwrap.dedent(text))
    return path


def test_a_failing_night_is_measured_on_told_and_kept(here, home):
    told = here / "told"
    night = assay.run_plan(
        plan(
            here,
            f"""
            label = "nightly"
            [run]
            cases = ["./work.py:fails@python", "./work.py:work@python"]
            [procedure]
            samples = 3
            [bench]
            methods = ["no_such_module.Class.benchmark_x"]
            repositories = ["{here}/nowhere.git"]
            [check]
            fail_on = ["step_time:3%"]
            [alerts]
            to = ["cmd:sh -c 'printenv ASSAY_ALERT > {told}'"]
            """,
        ),
        store=home,
    )

    assert sorted(night.results.values()) == ["failed", "ok"]
    assert night.status == 1
    assert [text.partition(".py")[0].partition(":")[0] for text in night.findings] == [
        "./work",
        "git clone failed",
    ]
    assert night.checked.found[0].judgement == "not-comparable"
    assert night.alerts == (f"alert to cmd:sh -c 'printenv ASSAY_ALERT > {told}': delivered",)
    assert "2 findings" in told.read_text() and "git clone failed" in told.read_text()
    (kept,) = run_log.lines("nightly", home)
    assert (kept.status, kept.findings, kept.runs) == (1, night.findings, night.runs)


def test_a_missed_night_is_a_finding_of_the_next_and_told(here, home):
    run_log.write("nightly", home, PlanRunLine(started="2026-01-01T02:00:00Z", ended="then"))
    told = here / "told"
    text = f"""
        [run]
        cases = ["./work.py:work@python"]
        [procedure]
        samples = 3
        [alerts]
        to = ["cmd:sh -c 'printenv ASSAY_ALERT > {told}'"]
    """

    night = assay.run_plan(plan(here, text), every="night", store=home)

    assert night.status == 0
    assert "nights were missed: the last began at 2026-01-01" in night.findings[0]
    assert night.findings[0] in told.read_text()


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("[run]\ncases = ['mnist-mlpp']", "no workload named 'mnist-mlpp'"),
        ("[run]\ncases = ['mnist-mlp']\n[check]\nfail_on = ['step_time']", "step_time"),
        ("[run]\ncases = ['mnist-mlp']\n[alerts]\nto = ['ftp://x']", "no place for an alert"),
        ("[bench]\nmethods = ['a.B.c']\ntrials = 0", "trials of"),
        ("[bench]\nmethods = ['a.B.c']\ntimeout = 'soon'", "soon"),
    ],
)
def test_what_is_wrong_is_refused_before_the_night_begins(here, home, text, sentence):
    path = here / "nightly.toml"
    path.write_text(text)

    with pytest.raises(UsageError, match=sentence):
        assay.run_plan(path, store=home)
    assert run_log.lines("nightly", home) == []
    with pytest.raises(UsageError, match="no schedule named 'fortnight'"):
        assay.run_plan(plan(here, "[run]\ncases = ['mnist-mlp']"), every="fortnight", store=home)


def test_a_commit_of_a_repository_is_checked_out_and_its_method_run(here, home):
    source = here / "sums"
    source.mkdir()
    (source / "sums_bench.py").write_text(BENCH)
    for words in (
        ("init", "-q", "-b", "main"),
        ("add", "."),
        ("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "x"),
    ):
        subprocess.run(["git", *words], cwd=source, check=True)
    text = f"""
        [bench]
        methods = ["sums_bench.Sums.benchmark_small"]
        repositories = ["{source};main"]
        python_path = ["sums"]
    """

    night = assay.run_plan(plan(here, text), store=home)

    assert night.findings == ()
    assert list(night.results.values()) == ["ok"]
    assert (run_log.folder("nightly", home) / "site-packages" / "sums" / "sums_bench.py").is_file()
