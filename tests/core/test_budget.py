"""Wall-clock budgets: how much is left, when what still runs is ended."""

from __future__ import annotations

import subprocess
import threading
import time

import pytest

from assay.core.budget import Budget, OutOfTimeError, hard_limit, interrupt_after
from assay.testing import FakeClock


def test_a_budget_counts_from_where_it_was_made_and_is_never_less_than_nothing():
    clock = FakeClock()
    clock.advance(100.0)
    budget = Budget(10.0, clock)

    clock.advance(4.0)
    assert (budget.spent, budget.left) == (4.0, 6.0)
    clock.advance(40.0)
    assert (budget.spent, budget.left) == (44.0, 0.0)


@pytest.mark.parametrize("seconds", [0.001, 1.0, 10.0, 60.0, 600.0, 36000.0])
def test_the_limit_leaves_half_of_a_fifth_or_of_10_s_to_end(seconds):
    allowed = max(0.2 * seconds, 10.0)

    assert hard_limit(seconds) - seconds == pytest.approx(allowed / 2)


def test_a_child_process_that_runs_too_long_is_interrupted_and_ended():
    start = time.monotonic()

    with pytest.raises(OutOfTimeError), interrupt_after(0.2):
        subprocess.run(["sleep", "60"], check=True)

    assert time.monotonic() - start < 30


def test_what_ends_in_time_is_not_interrupted_later():
    with interrupt_after(0.2):
        done = True
    threading.Event().wait(0.4)

    assert done


def test_another_thread_than_the_main_one_is_not_interrupted():
    ended = []

    def work():
        with interrupt_after(0.05):
            threading.Event().wait(0.2)
        ended.append("well")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert ended == ["well"]
