"""Checks of a session's work, without a framework; exploits of frameworks are in tests/exploits."""

import numpy as np
import pytest

from assay.core.fingerprint import sample_values
from assay.worker.work_check import WorkWatch

BATCH = np.arange(12.0).reshape(4, 3)


class Clock:
    """Stands still unless a step moves it."""

    now = 0.0

    def __call__(self):
        return self.now


class Session:
    """Doubles its inputs; a step takes a second."""

    items = 4

    def __init__(self, clock):
        self.clock, self.batch, self.inputs, self.output = clock, BATCH.copy(), None, None
        self.set_inputs(self.batch)

    def fresh_inputs(self, number):
        return self.batch + number

    def set_inputs(self, inputs):
        self.inputs = inputs

    def step(self):
        self.clock.now += 1
        self.output = 2 * self.inputs

    def wait(self):
        pass

    def step_output(self):
        return sample_values(self.output)

    def facts(self):
        return {"mode": "infer", "tf32": False}


class Skipping(Session):
    """Takes ten times as long for other inputs than those of the step before."""

    seen = None

    def step(self):
        super().step()
        if not np.array_equal(self.seen, self.inputs):
            self.clock.now += 9
        self.seen = self.inputs.copy()


class Constant(Session):
    def step(self):
        super().step()
        self.output = BATCH


class Late(Session):
    before = BATCH

    def step(self):
        super().step()
        self.before, self.output = self.output, self.before


class Overwriting(Session):
    def step(self):
        super().step()
        self.batch += 1


class Switching(Session):
    steps = 0

    def step(self):
        super().step()
        self.steps += 1
        self.output = self.output * (1 if self.steps < 3 else 1.01)

    def facts(self):
        return {"mode": "infer", "tf32": self.steps > 3}


class Picky(Session):
    """Raises for any inputs but its own."""

    def step(self):
        super().step()
        if self.inputs is not self.batch and not np.array_equal(self.inputs, self.batch):
            raise ValueError("not a graph")


def facts(kind):
    clock = Clock()
    session = kind(clock)
    watch = WorkWatch(session, "float32")
    watch.see_facts(session, session.facts())
    session.step()
    watch.see_step(session)
    return watch.check(session, clock)


@pytest.mark.parametrize(
    "kind, expected",
    [
        (Session, {}),
        (Skipping, {"fresh_step_ratio": 10.0}),
        (Constant, {"outputs_repeat": True}),
        (Late, {"outputs_late": True}),
        (Overwriting, {"inputs_changed": True}),
        (Picky, {"unchecked": "ValueError: not a graph"}),
    ],
)
def test_signs_of_work_that_is_not_done(kind, expected):
    assert facts(kind) == expected


def test_steps_that_differ_from_the_first_are_a_sign():
    seen = facts(Switching)

    assert seen["first_output_difference"] == pytest.approx(0.01 / 1.01, rel=1e-6)
    assert seen["settings_changed"] == "tf32 False → True"
