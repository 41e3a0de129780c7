"""Every second belongs to one phase, none to two."""

from __future__ import annotations

import pytest

from assay.core import phases
from assay.testing import FakeClock


@pytest.fixture
def clock(monkeypatch):
    clock = FakeClock()
    monkeypatch.setattr("time.monotonic", clock)
    return clock


def test_what_begins_inside_a_phase_stops_it(clock):
    with phases.record_phases() as spent:
        clock.now += 1
        with phases.during("import"):
            clock.now += 2
            with phases.during("weights"):
                clock.now += 4
            clock.now += 8
        clock.now += 16

    assert spent.seconds == {"build": 17, "import": 10, "weights": 4}


def test_a_phase_that_fails_is_counted_too(clock):
    with phases.record_phases() as spent:
        with pytest.raises(ValueError, match="no"), phases.during("checks"):
            clock.now += 3
            raise ValueError("no")
        clock.now += 1

    assert spent.seconds == {"build": 1, "checks": 3}


def test_what_is_known_of_the_inside_is_taken_off(clock):
    found = phases.Phases()
    clock.now += 10
    found.charge("start", {"import": 4.0, "build": 5.0})
    clock.now += 1
    found.charge("first step")

    assert found.sorted_seconds() == {"start": 1, "import": 4, "build": 5, "first step": 1}
    assert list(found.sorted_seconds()) == ["start", "import", "build", "first step"]
