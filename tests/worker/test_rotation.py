"""Steps that take another batch than the step before."""

import numpy as np
import pytest

from assay.core.errors import EndingError
from assay.worker.rotation import FRESH, USUAL_CACHE, last_level_cache, rotate_inputs


class Session:
    """Takes any inputs, and records those of its steps."""

    items = 1

    def __init__(self, size):
        self.inputs = {"x": np.zeros(size, np.uint8)}
        self.taken = []

    def fresh_inputs(self, number):
        return {"x": self.inputs["x"] + number % 200}

    def set_inputs(self, inputs):
        self.inputs = inputs

    def step(self):
        self.taken.append(int(self.inputs["x"][0]))

    def wait(self):
        pass

    def facts(self):
        return {}


class Call:
    """Takes no inputs."""

    items = 1

    def step(self):
        pass

    def wait(self):
        pass

    def facts(self):
        return {}


def steps(session, count):
    for _ in range(count):
        session.step()
    return session.taken


def test_the_same_inputs_leave_the_step_as_it_is():
    session = Session(1)
    before = session.step

    assert rotate_inputs(session, "same") == {"inputs": "same"}
    assert session.step == before


def test_fresh_inputs_are_a_ring():
    session = Session(10)

    facts = rotate_inputs(session, "fresh")

    assert facts == {"inputs": "fresh", "input_batches": FRESH, "input_bytes": 10 * FRESH}
    assert steps(session, FRESH + 1) == [*range(FRESH), 0]


def test_cold_inputs_are_larger_than_the_cache():
    session = Session(8 << 20)

    facts = rotate_inputs(session, "cold")

    assert facts["input_bytes"] > last_level_cache()
    assert steps(session, 3) == [0, 1, 2]


def test_a_batch_too_small_for_a_cold_ring_is_refused():
    with pytest.raises(EndingError, match="larger batch_size"):
        rotate_inputs(Session(1), "cold")


def test_a_session_that_takes_no_inputs_repeats_them():
    assert rotate_inputs(Call(), "same") == {"inputs": "repeat"}


def test_the_largest_cache_counts(tmp_path):
    for level, size in enumerate(("48K", "1280K", "200M")):
        (tmp_path / f"index{level}").mkdir()
        (tmp_path / f"index{level}" / "size").write_text(f"{size}\n")

    assert last_level_cache(tmp_path) == 200 << 20
    assert last_level_cache(tmp_path / "none") == USUAL_CACHE
