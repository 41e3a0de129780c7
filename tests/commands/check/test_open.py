"""Regressions stay open until they are confirmed, refuted, accepted or gone."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

import assay
from assay.commands.check import api, marks
from assay.commands.check.view import headline
from assay.core.errors import UsageError
from assay.core.records import Case, Environment, Plan, Procedure, Query, Result, Samples
from assay.core.registry import open_store
from assay.stats import stored_summary
from assay.stores import folders
from tests.commands.history.test_history import CASE, HERE, keep_series, nights


@pytest.fixture
def store(home):
    with closing(open_store(home)) as opened:
        yield opened


def add(store, values, first: int, case: Case = CASE) -> None:
    """Further nights of a series, from night `first` on."""
    for night, value in enumerate(values, first):
        place = folders.new_case(store.new_run(Plan(cases=(case,))))
        started = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=night)
        result = Result(
            id=place.id,
            case=case,
            procedure=Procedure(),
            status="ok",
            started=started.isoformat(),
            samples=(Samples(metric="step_time", unit="s", phase="steady", values=(value,) * 5),),
            environment=Environment(machine=HERE),
        )
        store.append(result)
        stored_summary.read(store, result)


def only(report) -> api.CheckedSeries:
    (series,) = report.found
    return series


def slow(store, count: int = 3) -> None:
    keep_series(store, nights(20))
    add(store, [value * 1.5 for value in nights(count, seed=2)], 20)


def test_a_regression_is_open_after_thirty_nights(store):
    slow(store)
    assert api.status(assay.check()) == 5

    add(store, [value * 1.5 for value in nights(30, seed=3)], 23)
    report = assay.check()

    assert only(report).judgement == "regression"
    assert only(report).since.startswith("2026-01-21")
    assert only(report).text == "33 points against 20; open since 2026-01-21"
    assert 1.45 < only(report).low < only(report).size < only(report).high < 1.55
    assert api.status(report) == 5


def test_a_regression_is_gone_when_three_points_are_back(store):
    slow(store)
    assay.check()

    add(store, nights(2, seed=4), 23)
    assert api.status(assay.check()) == 5
    add(store, nights(1, seed=5), 25)

    assert api.status(assay.check()) == 0
    add(store, [0.03], 26)
    assert only(assay.check()).judgement != "regression"  # not the earlier one again


def test_a_higher_threshold_does_not_end_a_regression(store):
    slow(store)
    assay.check()

    assert api.status(assay.check(fail_on=["step_time:80%"])) == 0
    assert api.status(assay.check()) == 5


def test_an_accepted_change_is_the_new_baseline(store):
    slow(store)
    assay.check()

    report = assay.check(accept="w@b", why="more accurate")
    assert api.status(report) == 0
    assert headline(report).startswith("1 change accepted: no regression")

    again = only(assay.check())
    assert again.judgement == "not-comparable"
    assert "(more accurate): cannot tell yet" in again.text
    add(store, [value * 1.5 for value in nights(20, seed=4)], 23)
    assert only(assay.check()).judgement == "fine"
    add(store, [value * 2.0 for value in nights(3, seed=5)], 43)
    assert only(assay.check()).judgement == "regression"


def test_who_accepted_it_and_when_is_stored_with_the_first_slower_result(store):
    slow(store)
    assay.check(accept=["w@b"], why="token=abcdefgh12345678 is slow")

    (entry,) = store.entries(Query(tags={marks.TAG: marks.MARKED}))
    (mark,) = marks.Marks(store).of(store.one_series(entry.series, "step_time"))

    assert mark.first == entry.id and mark.state == "accepted"
    assert mark.by and mark.when.startswith(datetime.now(UTC).strftime("%Y-"))
    assert "abcdefgh" not in mark.why and "is slow" in mark.why


def test_a_suspect_can_be_accepted(store):
    slow(store, 1)

    assert only(assay.check()).judgement == "suspect"
    assert api.status(assay.check(accept="w@b", why="new data")) == 0
    assert api.status(assay.check()) == 0


def test_an_accepted_change_is_fine_against_a_chosen_baseline_until_it_grows(store):
    keep_series(store, nights(20), label="old")
    add(store, [value * 1.5 for value in nights(5, seed=2)], 20)
    assert api.status(assay.check("label:old", accept="w@b", why="new data")) == 0

    assert only(assay.check("label:old")).judgement == "fine"
    add(store, [value * 2.5 for value in nights(10, seed=2)], 25)
    assert api.status(assay.check("label:old")) == 5


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"accept": "nothing@b", "why": "x"}, "no series named 'nothing@b'"),
        ({"accept": "fine@b", "why": "x"}, "'fine@b' has no regression and no suspect to accept"),
        ({"accept": "w@b"}, "'w@b' is accepted without a reason"),
        ({"accept": "w@b", "why": " "}, "'w@b' is accepted without a reason"),
        ({"why": "x"}, "no series to accept"),
    ],
)
def test_what_cannot_be_accepted_is_one_sentence(store, options, text):
    slow(store)
    keep_series(store, nights(20), Case(workload="fine", backend="b", key="fine@b"))

    with pytest.raises(UsageError, match=text):
        assay.check(**options)


def test_accept_on_the_command_line(assay, store):
    slow(store)

    assert assay("check", "--accept", "w@b")[0] == 2
    status, out, _ = assay("check", "--accept", "w@b", "--why", "more accurate")

    assert (status, out.splitlines()[0].startswith("1 change accepted")) == (0, True)
    assert "regression, accepted: more accurate" in out


def test_a_confirmed_regression_is_reported_until_it_is_accepted(store):
    slow(store)
    found = assay.check()
    settled(store, found, "confirmed", "side by side +50 %")

    again = assay.check(confirm=True)  # not measured again: there is nothing to run

    assert (only(again).outcome, only(again).confirmation) == ("confirmed", "side by side +50 %")
    assert api.status(again) == 5
    assert api.status(assay.check(accept="w@b", why="known")) == 0


def test_points_of_a_refuted_suspect_are_left_out(store):
    slow(store)
    settled(store, assay.check(), "refuted", "measured again")

    after = only(assay.check())
    assert (after.judgement, api.status(assay.check())) == ("fine", 0)
    add(store, [0.03], 23)
    assert only(assay.check()).judgement == "suspect"


def settled(store, report, outcome: str, text: str) -> None:
    import msgspec

    series = msgspec.structs.replace(only(report), outcome=outcome, confirmation=text)
    assert marks.keep_marks(store, [series], [], marks.Marks(store)) == []


def test_a_series_without_points_before_an_accepted_change_can_be_read_again(store):
    slow(store)
    assay.check(accept="w@b", why="x")
    (entry,) = store.entries(Query(tags={marks.TAG: marks.MARKED}))
    store.amend(entry.id, entry.label, {**entry.tags, marks.MARKS: "[{broken"})

    report = assay.check()

    assert only(report).judgement == "regression"  # the tag cannot be read: nothing is accepted


def test_alerts_are_sent_for_regressions_and_not_for_suspects(store, tmp_path):
    slow(store, 1)
    place = f"cmd:touch {tmp_path}/sent"

    report = assay.check(alerts=[place])
    assert (api.status(report), report.alerts) == (6, ())

    add(store, [0.03, 0.03], 21)
    report = assay.check(alerts=[place])
    assert api.status(report) == 5 and len(report.alerts) == 1
    assert (tmp_path / "sent").exists()


def test_an_interval_contains_no_change_where_the_test_does_not_exclude_it(store):
    for seed in range(12):
        keep_series(store, nights(40, seed=seed), Case(workload=f"w{seed}", backend="b"))

    for series in assay.check():
        assert series.p <= 0.05 or series.low <= 1 <= series.high


def test_a_slower_machine_is_undecided_and_none_of_its_series_a_regression(store):
    for number in range(8):
        values = nights(23, seed=number)
        slower = [*values[:20], *(1.3 * value for value in values[20:])]
        keep_series(store, slower, Case(workload=f"w{number}", backend="b", key=f"w{number}@b"))

    report = assay.check()

    assert {series.judgement for series in report} == {"fine"}
    assert api.status(report) == 6
    assert headline(report).startswith("undecided: most of 8 series on EPYC, 2 cpus are slower")
