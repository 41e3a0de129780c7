"""The stages of a tuning keep its budget, on a virtual clock."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from assay.commands.tune import tuner
from assay.commands.tune.tuner import Stages
from assay.core.budget import OutOfTimeError, hard_limit
from assay.core.errors import AssayError
from assay.core.progress import ignore
from assay.testing import FakeClock


@pytest.fixture
def clock(monkeypatch):
    fake = FakeClock()
    monkeypatch.setattr(tuner, "time", SimpleNamespace(monotonic=fake))
    return fake


def test_what_outlasts_the_limit_ends_with_the_time_that_is_needed(clock, monkeypatch):
    limits = []

    class Interrupt:
        def __init__(self, seconds):
            limits.append(seconds)

        def __enter__(self):
            clock.advance(limits[0])

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(tuner, "interrupt_after", Interrupt)
    stages = Stages("net", 60.0, ignore)

    with pytest.raises(AssayError, match="Tuning net takes about") as caught, stages.limit():
        stages.report("times", 0.0, "time of each knob")
        raise OutOfTimeError

    assert limits == [hard_limit(60.0)]
    assert caught.value.hint.endswith("to go on: --resume --budget 550s")


def test_stages_are_on_time_as_long_as_they_keep_to_their_shares(clock):
    stages = Stages("net", 100.0, ignore)
    stages.report("times", 0.5, "")  # 24.5 % of the work

    clock.advance(24.0)
    assert stages.is_on_time()
    clock.advance(1.0)
    assert not stages.is_on_time()
