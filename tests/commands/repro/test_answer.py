"""Reproduced, differs or undecided, in words."""

from __future__ import annotations

import msgspec
import pytest

from assay.commands.repro.answer import StoredTimes, decide
from tests.commands.repro.test_setup import RESULT

BUSY = {"machine_busy_cores": 2.0, "mean_cpu_percent": 20.0}
NEAR = [(1.0, 1.02), (1.001, 1.02), (0.999, 1.02), (1.0, 1.021), (1.002, 1.019)]


def result(processes, metric: str = "step_time", unit: str = "s", **parts):
    """Of a fastest and a typical step for each process."""
    (part,) = RESULT.samples
    samples = tuple(
        msgspec.structs.replace(
            part, values=(fast, typical, typical), process=n, metric=metric, unit=unit
        )
        for n, (fast, typical) in enumerate(processes)
    )
    return msgspec.structs.replace(RESULT, samples=samples, **parts)


def times(factor: float, processes=NEAR):
    return [(factor * fast, factor * typical) for fast, typical in processes]


def answer(old, *new, within=0.5):
    return decide(old, list(new), within, StoredTimes())


def test_the_same_again_is_reproduced_within_what_the_interval_allows():
    found = answer(result(NEAR[:1]), result(NEAR))

    assert found.answer == "reproduced"
    assert found.sentence.startswith("reproduced within 0.")
    assert "process to process" not in found.sentence  # where it is near, there is no excuse


@pytest.mark.parametrize("factor", [1.1, 1.25, 0.8])
def test_more_or_less_work_differs(factor):
    found = answer(result(NEAR[:1]), result(times(factor)), result(times(factor)))

    assert found.answer == "differs"
    assert found.sentence.startswith(f"differs by {100 * abs(factor - 1):.1f} %: ")


@pytest.mark.parametrize(("virtual", "said"), [(True, "reproduced"), (False, "differs")])
def test_typical_steps_alone_do_not_tell_where_the_host_is_not_seen(virtual, said):
    machine = {"virtual_machine": True} if virtual else {}
    where = msgspec.structs.replace(RESULT.environment, machine=machine)
    slow = [(fast, 1.5 * typical) for fast, typical in NEAR]
    found = answer(result(slow, environment=where), result(NEAR, environment=where))

    assert found.answer == said
    assert ("does not see what else its host does" in found.sentence) is virtual


def test_where_typical_steps_vary_the_fastest_tell():
    noise = [(1.0, 3.0), (1.001, 1.1), (0.999, 6.0), (1.0, 1.2), (1.002, 5.0)]
    same = answer(result(noise[:1]), result(noise), within=0.1)
    more = answer(result(noise[:1]), result(times(1.1, noise)))

    assert same.answer == "reproduced" and more.answer == "differs"
    assert "reproduced within 0." in same.sentence and "in its fastest steps" in same.sentence
    assert "from process to process" in same.sentence
    assert more.sentence.startswith("differs by 10.0 % in its fastest steps: 10.0 % slower")


def test_typical_steps_that_differ_alone_differ_unless_other_programs_ran():
    slow = [(fast, 1.5 * typical) for fast, typical in NEAR]
    quiet = answer(result(NEAR[:1]), result(slow))
    busy = answer(result(NEAR[:1]), result(slow, peaks=BUSY))

    assert quiet.answer == "differs"
    assert busy.answer == "reproduced"
    assert "in its fastest steps" in busy.sentence
    assert "50.0 % slower" in busy.sentence and "kept 1.8 cores busy" in busy.sentence


def test_what_one_process_took_beside_other_programs_may_have_been_chance():
    """Seen: with eight programs on two cores, all of one short process was 80 % slower."""
    slow = result(times(1.8, NEAR[:1]), peaks=BUSY)
    faster = answer(slow, result(NEAR))
    slower = answer(result(NEAR[:1], peaks=BUSY), result(times(1.8)))
    several = answer(result(times(1.8), peaks=BUSY), result(NEAR))

    assert [one.answer for one in (faster, slower, several)] == ["undecided", "differs", "differs"]
    assert "kept 1.8 cores busy" in faster.sentence


def test_what_may_be_more_than_was_asked_for_is_undecided_with_advice():
    noise = [(0.8, 1.0), (1.0, 1.1), (1.2, 1.3), (0.9, 1.2), (1.1, 1.2)]

    found = answer(result(noise[:1]), result(noise), within=0.05)

    assert found.answer == "undecided"
    assert found.sentence.startswith("undecided within 5.0 %")
    assert "--processes 20" in found.advice


def test_a_machine_that_became_faster_is_named():
    def beside(seconds, processes):
        machine = {"yardstick": seconds, "yardstick_python": "3"}
        environment = msgspec.structs.replace(RESULT.environment, machine=machine)
        return result(processes, environment=environment)

    found = answer(beside(2.2e-4, NEAR[:1]), beside(2e-4, times(0.92)))
    other = answer(beside(2.2e-4, NEAR[:1]), beside(2e-4, times(1.1)))

    assert found.answer == "reproduced"
    assert found.sentence.endswith("the machine itself is 9.1 % faster than it was then")
    assert other.answer == "differs"


def test_a_rate_is_higher_not_slower_and_has_no_fastest():
    found = answer(
        result(NEAR, metric="rate", unit="items/s"),
        result(times(2), metric="rate", unit="items/s"),
    )

    assert found.answer == "differs" and found.fastest is None
    assert "2.00 times higher" in found.sentence
