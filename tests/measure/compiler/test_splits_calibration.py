"""Knobs by layer or by file, and the images from which ranges are found."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.measure.compiler.splits import CALIBRATION_ITEMS, calibrate_knobs
from tests.datasets.making import SAMPLE
from tests.native.making import Making


def graph_of(*shape):
    made = Making(*shape)
    return made.graph(made.conv(made.input, 2, 1))


def test_items_that_are_given_are_taken():
    items = np.zeros((2, 3, 4, 4))

    found = calibrate_knobs("resnet18-cifar10", graph_of(3, 4, 4), {"ConvOp0": 13}, (items,))

    assert found.knobs == {"ConvOp0": 13}
    assert [each.dtype for each in found.items] == [np.float32]


@pytest.mark.parametrize("shape", [(3, 32, 32), (32, 32, 3)])
def test_a_network_with_pictures_of_its_own_gives_some(monkeypatch, shape):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))

    found = calibrate_knobs("resnet18-cifar10", graph_of(*shape), {"ConvOp0": 13})

    assert [each.shape for each in found.items] == [(CALIBRATION_ITEMS, *shape)]


@pytest.mark.parametrize("model", ["mnist-mlp", "model.keras", "model.onnx", None])
def test_a_model_without_pictures_gives_none(model):
    assert calibrate_knobs(model, graph_of(3, 4, 4), {"ConvOp0": 123}).items == ()


def test_a_file_that_is_not_there_is_told():
    with pytest.raises(UsageError, match="cannot be read"):
        calibrate_knobs(None, graph_of(3, 4, 4), "nowhere.txt:conf2")
