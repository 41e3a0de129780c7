"""What a tuning calibrated on lies beside its configurations, and is taken from there."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.measure.compiler.splits import calibrate_knobs
from assay.native import ops
from assay.native.knobs.calibration_file import FILE, load_items, save_items
from tests.native.knobs.test_knobs import CONFIG
from tests.native.making import Making


def graph():
    made = Making(2, 6, 6)
    active = made.add(ops.ActivationOp("tanh"), made.conv(made.input, 4, 3))
    flat = made.add(ops.ReshapeOp((16,)), made.add(ops.PoolOp("max", (2, 2), (2, 2)), active))
    return made.graph(made.add(ops.DenseOp(made.constant(3, 16)), flat))


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "best.txt"
    path.write_text(CONFIG)
    return path


def test_they_are_found_beside_the_configuration(config):
    items = np.random.default_rng(0).normal(size=(5, 2, 6, 6)).astype(np.float32)
    assert load_items(config, graph()) == ()

    save_items(config.parent, items)

    np.testing.assert_array_equal(load_items(config, graph())[0], items)
    changes = calibrate_knobs(graph(), graph(), config)
    assert changes.knobs["DenseOp4"] == 13
    np.testing.assert_array_equal(changes.items[0], items)


def test_items_that_are_given_come_first(config):
    save_items(config.parent, np.zeros((5, 2, 6, 6), np.float32))

    found = calibrate_knobs(graph(), graph(), config, (np.ones((1, 2, 6, 6)),))

    assert found.items[0].min() == 1


def test_those_of_another_model_are_refused(config):
    save_items(config.parent, np.zeros((5, 3, 8, 8), np.float32))

    with pytest.raises(UsageError, match=r"items of \(3, 8, 8\), but .* takes \(2, 6, 6\)"):
        load_items(config, graph())


def test_a_broken_file_is_told(config):
    (config.parent / FILE).write_bytes(b"no array")

    with pytest.raises(UsageError, match="is no array of items"):
        load_items(config, graph())
