"""Figures are written, or said to be impossible."""

import builtins
from pathlib import Path

import msgspec
import pytest

from assay.commands.plot import figures
from assay.commands.race.ranking import Place, Race
from assay.core.errors import NotPossibleError, UsageError
from assay.core.findings import Quantity, SummarizedResult
from assay.core.records import Case, Procedure, Result, Samples
from assay.stats.paired_ratio import DecisionRule, PairRatio, decide
from assay.stats.summary import summarize

ROWS = [
    {"time": 0.1 * i, "rss": 1e6 * i, "vms": 1.0, "cpu_percent": 50.0} for i in range(1, 20)
] * 2  # two processes, one after the other
BEGIN = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}


def result(*parts):
    return Result(
        id="r/001",
        case=Case(workload="w", backend="b", key="w@b"),
        procedure=Procedure(),
        status="ok",
        samples=parts,
    )


STEADY = Samples(metric="step_time", unit="s", phase="steady", values=(0.1, 0.2), starts=(1.0, 1.1))


def read(made):
    return SummarizedResult(result=made, summary=summarize(made))


@pytest.mark.real("matplotlib")
@pytest.mark.parametrize("suffix", figures.SUFFIXES)
def test_the_process_series_is_drawn_in_each_form(tmp_path, suffix):
    path = tmp_path / f"figure{suffix}"

    figures.process(ROWS, "a title", path)

    assert path.read_bytes().startswith(BEGIN[suffix])


@pytest.mark.real("matplotlib")
def test_titles_and_units_are_in_the_figure(tmp_path):
    figures.samples([read(result(STEADY))], tmp_path / "s.svg")
    text = (tmp_path / "s.svg").read_text()

    assert all(f"<!-- {words} -->" in text for words in ("step time (ms)", "150 ms"))


@pytest.mark.real("matplotlib")
def test_several_results_stand_in_one_figure_and_those_without_samples_at_its_foot(tmp_path):
    longer = msgspec.structs.replace(STEADY, values=(0.3, 0.3))

    figures.samples(
        [read(result(STEADY)), read(result(longer)), read(result())], tmp_path / "s.svg"
    )

    text = (tmp_path / "s.svg").read_text()
    drawn = ("150 ms", "300 ms", "without step times: r/001 (ok)")
    assert all(f"<!-- {words} -->" in text for words in drawn)


@pytest.mark.real("matplotlib")
def test_samples_without_start_times_are_drawn_in_order(tmp_path):
    figures.samples(
        [read(result(Samples(metric="step_time", unit="s", phase="steady", values=(0.1,))))],
        tmp_path / "s.png",
    )

    assert (tmp_path / "s.png").stat().st_size > 1000


def test_a_result_without_samples_has_no_figure(tmp_path):
    with pytest.raises(UsageError, match=r"no step times to draw: r/001 \(ok\)"):
        figures.samples([read(result())], tmp_path / "s.png")


def test_an_empty_series_has_no_figure(tmp_path):
    with pytest.raises(UsageError, match="no process series"):
        figures.process([], "x", tmp_path / "s.png")


def test_another_kind_of_file_is_refused_before_drawing():
    with pytest.raises(UsageError, match="no figure file"):
        figures.check_figure_path(Path("x.txt"))


def test_a_missing_matplotlib_is_said_with_its_command(tmp_path, monkeypatch):
    load = builtins.__import__

    def refuse(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return load(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)

    with pytest.raises(NotPossibleError, match="need matplotlib") as caught:
        figures.process(ROWS, "x", tmp_path / "s.png")
    assert caught.value.hint == "pip install 'assay-lab[plot]'"


@pytest.mark.real("matplotlib")
def test_a_few_outliers_do_not_flatten_the_rest_and_are_counted(tmp_path):
    values = (*(0.1 + 0.001 * (at % 9) for at in range(400)), 50.0)
    part = Samples(metric="step_time", unit="s", phase="steady", values=values)

    figures.samples([read(result(part))], tmp_path / "s.svg")

    assert "<!-- 1 beyond -->" in (tmp_path / "s.svg").read_text()


@pytest.mark.real("matplotlib")
def test_a_comparison_is_one_chart(tmp_path):
    figures.comparison(decide((RATIO, RATIO, RATIO), DecisionRule("step_time")), tmp_path / "s.svg")

    text = (tmp_path / "s.svg").read_text()
    assert "<!-- step_time: candidate / baseline -->" in text


@pytest.mark.real("matplotlib")
def test_a_race_is_one_chart_with_its_contenders(tmp_path):
    one = Quantity(value=1.0, low=1.0, high=1.0, unit="", estimator="", n=0)
    two = msgspec.structs.replace(one, value=1.5, low=1.4, high=1.6, n=3)
    places = (
        Place(key="a@b", state="in", ratio=one, heats=3),
        Place(key="c@d", state="out", ratio=two, heats=3),
    )

    figures.race(Race(places=places, metric="item_time", minimum=0.02, heats=3), tmp_path / "s.svg")

    text = (tmp_path / "s.svg").read_text()
    assert "<!-- a@b -->" in text and "<!-- c@d -->" in text
    assert "<!-- 1 x -->" in text


@pytest.mark.real("matplotlib")
def test_what_has_no_step_times_is_drawn_by_its_metrics(tmp_path):
    loss = Samples(metric="loss", unit="", phase="steady", values=(3.0, 2.0, 1.0))

    figures.samples([read(result(loss))], tmp_path / "s.svg")

    assert "<!-- loss -->" in (tmp_path / "s.svg").read_text()


RATIO = PairRatio(ratio=0.9, error=0.01, turns=7, baseline="r/001", candidate="r/002")
