"""A run names the fastest only if process noise and few samples cannot have made it so."""

from __future__ import annotations

import runpy
from pathlib import Path

import msgspec
import pytest

from assay.core.findings import Mismatch, SummarizedResult
from assay.core.records import Case, Procedure, Result, Samples
from assay.stats.summary import summarize
from assay.stats.winner import rank

SIMULATION = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "winners.py"))


def reading(name: str, *processes: list[float], items: int = 1) -> SummarizedResult:
    samples = tuple(
        Samples(metric="step_time", unit="s", phase="steady", values=tuple(values), process=number)
        for number, values in enumerate(processes)
    )
    result = Result(
        id=f"run/{name}",
        case=Case(workload="net", backend=name, key=f"net@{name}"),
        procedure=Procedure(),
        status="ok",
        samples=samples,
        items=items,
        seconds=1e3,
    )
    return SummarizedResult(result=result, summary=summarize(result))


def steps(level: float, count: int = 40) -> list[float]:
    """Times within half a per cent, in an order without pattern."""
    return [level * (1 + 0.001 * ((7 * number) % 11 - 5)) for number in range(count)]


def rank_all(*readings: SummarizedResult):
    return rank(readings)


def test_a_difference_beyond_the_noise_of_processes_is_a_win():
    ranking = rank_all(reading("a", steps(0.02)), reading("b", steps(0.01)))

    assert (ranking.first, ranking.other, ranking.certain) == ("run/b", "run/a", True)
    assert ranking.ratio == pytest.approx(2, rel=0.01)


def test_a_clear_difference_within_the_noise_of_processes_is_none():
    ranking = rank_all(reading("a", steps(0.011)), reading("b", steps(0.01)))

    assert not ranking.certain and ranking.processes == (1, 1) and not ranking.few


def test_processes_that_agree_decide_a_small_difference():
    slow = reading("a", *(steps(0.0105 + 1e-5 * number) for number in range(5)))
    fast = reading("b", *(steps(0.0100 + 1e-5 * number) for number in range(5)))

    assert rank_all(slow, fast).certain


@pytest.mark.parametrize("count", [1, 2, 9])
def test_fewer_than_ten_samples_name_nobody(count):
    ranking = rank_all(reading("a", steps(0.03, count)), reading("b", steps(0.01)))

    assert not ranking.certain and ranking.few


def test_correlated_samples_count_as_what_they_are_worth():
    swing = [0.01 + 1e-4 * abs(number % 40 - 20) for number in range(80)]

    assert rank_all(reading("a", swing), reading("b", [v / 3 for v in swing])).few


def test_the_first_has_to_beat_every_other_and_not_only_the_next():
    unsure = reading("c", steps(0.031, 3))

    ranking = rank_all(reading("a", steps(0.01)), reading("b", steps(0.03)), unsure)

    assert not ranking.certain and ranking.other == "run/c"


def test_two_results_of_one_case_are_no_contest():
    assert rank_all(reading("a", steps(0.01)), reading("a", steps(0.03))) is None


def test_rates_are_compared_and_not_steps():
    ranking = rank_all(reading("a", steps(0.01)), reading("b", steps(0.02), items=8))

    assert ranking.first == "run/b" and ranking.certain
    assert ranking.ratio == pytest.approx(4, rel=0.01)


def test_who_computes_something_else_does_not_win():
    readings = [reading("a", steps(0.01)), reading("b", steps(0.02)), reading("c", steps(0.04))]
    wrong = Mismatch(workload="net", what="outputs", text="", unfair=True, wrong={"run/a": 0.25})

    ranking = rank(readings, [wrong])

    assert (ranking.first, ranking.other, ranking.certain) == ("run/b", "run/c", True)
    assert rank(readings[:2], [wrong]) is None


def test_results_of_several_workloads_have_no_winner():
    other = reading("b", steps(0.01))
    case = Case(workload="other", backend="b", key="other@b")
    other = msgspec.structs.replace(other, result=msgspec.structs.replace(other.result, case=case))

    assert rank([reading("a", steps(0.02)), other]) is None


@pytest.mark.parametrize("noise", [0.0, 0.03, 0.05])
@pytest.mark.parametrize("samples", [2, 10, 40])
def test_between_equal_programs_of_one_process_each_nobody_wins(noise, samples):
    setting = SIMULATION["Setting"](samples=samples)

    before, after = SIMULATION["named"](setting, noise, trials=40, seed=1)

    assert after == 0 <= before


def test_between_equal_programs_of_several_processes_a_winner_is_as_rare_as_the_level():
    setting = SIMULATION["Setting"](processes=5, samples=20)

    assert SIMULATION["named"](setting, 0.05, trials=100, seed=1)[1] <= 0.08


def test_twice_the_speed_is_still_named():
    setting = SIMULATION["Setting"](ratio=2.0)

    assert SIMULATION["named"](setting, 0.03, trials=20, seed=1)[1] == 1.0
