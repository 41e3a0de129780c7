from __future__ import annotations

import pytest

from assay.core.errors import UsageError
from assay.logs.reader import MAX_RAW, LogReader
from assay.logs.task import Metric

SPEED = Metric(name="speed", pattern="speed {number}", compute="average")


def outcome_of(log, *metrics, returncode=None, workers=0):
    with LogReader(metrics, workers=workers) as reader:
        reader.feed(log)
        return reader.finish(returncode)


def test_one_missing_metric_loses_no_other():
    outcome = outcome_of(b"speed 2\nspeed 4\n", Metric(name="loss", key="loss"), SPEED)
    loss, speed = outcome.metrics
    assert (loss.status, loss.reason) == ("failed", "the key 'loss' was not in the log")
    assert (speed.status, speed.value, speed.raw) == ("ok", 3.0, (2.0, 4.0))
    assert outcome.status == "failed"
    assert outcome.reason == "1 of 2 metrics failed; loss: the key 'loss' was not in the log"


def test_a_command_that_failed_gives_its_numbers_but_is_not_ok():
    outcome = outcome_of(b"speed 2\nbroken\n", SPEED, returncode=3)
    assert outcome.status == "failed"
    assert outcome.reason == "the command ended with exit status 3: broken"
    assert outcome.metrics[0].value == 2.0


def test_counts_grow_while_the_log_is_fed():
    with LogReader([SPEED]) as reader:
        reader.feed(b"speed 1\nspe")
        assert reader.counts() == {"speed": 1}
        reader.feed(b"ed 2\n")
        assert reader.counts() == {"speed": 2}


def test_a_broken_bound_fails_the_metric_and_keeps_its_value():
    metric = Metric(name="speed", pattern="speed {number}", min=5)
    (found,) = outcome_of(b"speed 2\n", metric).metrics
    assert (found.status, found.value) == ("failed", 2.0)
    assert found.reason == "2 is below the minimum 5"


def test_nan_breaks_every_bound():
    metric = Metric(name="loss", key="loss", max=5)
    (found,) = outcome_of(b"loss=nan\n", metric).metrics
    assert found.status == "failed"


def test_workers_reach_the_methods_that_ask_for_them():
    metric = Metric(name="speed", pattern="speed {number}", compute="average_aggregate")
    assert outcome_of(b"speed 2\n", metric, workers=4).metrics[0].value == 8.0
    assert outcome_of(b"speed 2\n", metric).metrics[0].status == "failed"


def test_a_match_without_a_number_is_noted_beside_the_others():
    metric = Metric(name="loss", pattern=r"loss (\S+)")
    (found,) = outcome_of(b"loss N/A\nloss 2\n", metric).metrics
    assert (found.status, found.value) == ("ok", 2.0)
    assert found.notes == ("1 of the matches have no number; the first: 'N/A' is not one number",)


def test_more_values_than_can_be_handed_on_are_still_computed():
    (found,) = outcome_of(b"speed 2\n" * (MAX_RAW + 1), SPEED).metrics
    assert (found.value, found.count, found.raw) == (2.0, MAX_RAW + 1, ())


def test_a_metric_has_exactly_one_source():
    with pytest.raises(UsageError, match="has pattern and key, but needs exactly"):
        Metric(name="a", pattern="x", key="y")
    with pytest.raises(UsageError, match="has no source"):
        Metric(name="a")


@pytest.mark.parametrize("log", [b"loss 2\nmean N/A\n", b"loss nan\nmean 2\n", b"loss 2\n"])
def test_a_closing_mean_that_cannot_be_checked_is_left_alone(log):
    metric = Metric(name="loss", pattern="loss {number}", closing=r"mean (\S+)")
    (found,) = outcome_of(log, metric).metrics
    assert found.closing is None
