"""Weights fit a model, or it is said which layer they do not fit and which shapes differ."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.weights.fit import assign, shape_mismatches
from assay.weights.layers import Layer

LAYERS = [
    Layer("conv2d", {"kernel": (3, 3, 1, 4), "bias": (4,)}, name="first"),
    Layer("dense", {"kernel": (16, 2), "bias": (2,)}),
    Layer("conv2d", {"kernel": (3, 3, 4, 4)}),
]


def weights(**changed):
    found = {
        "conv2d_1/kernel": np.ones((3, 3, 1, 4), np.float16),
        "conv2d_1/bias": np.ones(4),
        "dense_1/kernel": np.ones((16, 2)),
        "dense_1/bias": np.ones(2),
        "conv2d_2/kernel": np.full((3, 3, 4, 4), 2.0),
    }
    found |= {key.replace("__", "/"): value for key, value in changed.items()}
    return {key: value for key, value in found.items() if value is not None}


def test_arrays_come_in_the_order_of_layers_and_variables():
    found = assign(LAYERS, weights())

    assert [[array.shape for array in arrays] for arrays in found] == [
        [(3, 3, 1, 4), (4,)],
        [(16, 2), (2,)],
        [(3, 3, 4, 4)],
    ]
    assert found[0][0].dtype == np.float32
    assert found[2][0][0, 0, 0, 0] == 2


@pytest.mark.parametrize(
    "changed, message",
    [
        (
            {"dense_1__kernel": np.ones((784, 10))},
            r"layer dense_1 needs kernel \(16, 2\), but theirs is \(784, 10\)",
        ),
        (
            {"conv2d_1__bias": None},
            r"layer conv2d_1 \('first'\) needs bias \(4,\), but they have only kernel",
        ),
        ({"conv2d_2__kernel": None}, "layer conv2d_2 is missing"),
        ({"dense_2__kernel": np.ones((2, 2))}, "they have dense_2, but the model does not"),
        (
            {"conv2d_2__bias": np.ones(4)},
            r"they have bias \(4,\), but layer conv2d_2 has none",
        ),
    ],
)
def test_what_does_not_fit_is_named_with_its_shapes(changed, message):
    with pytest.raises(UsageError, match=f"The weights do not fit the model: {message}"):
        assign(LAYERS, weights(**changed))


def test_every_difference_is_counted():
    changed = weights(dense_1__kernel=np.ones((784, 10)), dense_1__bias=np.ones(10))

    assert len(list(shape_mismatches(LAYERS, changed))) == 2
    with pytest.raises(UsageError, match=r"\(1 more do not fit\.\)"):
        assign(LAYERS, changed)


def test_names_that_are_not_layers_are_refused():
    with pytest.raises(UsageError, match="'kernel', which is no <kind>_<n>/<variable>"):
        assign(LAYERS, {"kernel": np.ones(3)})
