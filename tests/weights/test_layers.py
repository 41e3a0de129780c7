"""Names of layers: counted from 1 per kind in order of creation."""

from __future__ import annotations

import numpy as np
import pytest

from assay.weights.layers import (
    Layer,
    StoredLayer,
    canonical_weights,
    creation_order,
    name_layers,
    snake_case,
)


@pytest.mark.parametrize(
    "names, expected",
    [
        (["conv2d", "conv2d_1", "conv2d_2"], [0, 1, 2]),
        (["conv2d_10", "conv2d_9", "conv2d_11"], [1, 0, 2]),  # numbers, not letters
        (["conv2d_3", "conv2d_2"], [1, 0]),
        (["stem", "conv2d_1", "conv2d"], [0, 1, 2]),  # a chosen name: the given order stands
    ],
)
def test_order_of_creation_is_in_the_names_keras_gives(names, expected):
    assert creation_order(names, "conv2d") == expected


def test_layers_of_a_file_are_renamed_from_1_per_kind():
    found = canonical_weights(
        [
            StoredLayer("conv2d", "conv2d_8", {"kernel": np.array(8)}),
            StoredLayer("conv2d", "conv2d_7", {"kernel": np.array(7)}),
            StoredLayer("dense", "dense_3", {"kernel": np.array(3), "bias": np.array(4)}),
        ]
    )

    assert {key: int(array) for key, array in found.items()} == {
        "conv2d_2/kernel": 8,
        "conv2d_1/kernel": 7,
        "dense_1/kernel": 3,
        "dense_1/bias": 4,
    }


def test_each_kind_is_counted_apart():
    layers = [Layer("conv2d", {}), Layer("dense", {}), Layer("conv2d", {})]

    assert [name for name, _ in name_layers(layers)] == ["conv2d_1", "dense_1", "conv2d_2"]


@pytest.mark.parametrize(
    "name, expected",
    [
        ("Conv2D", "conv2d"),
        ("DepthwiseConv2D", "depthwise_conv2d"),
        ("BatchNormalization", "batch_normalization"),
        ("Dense", "dense"),
    ],
)
def test_class_names_become_kinds(name, expected):
    assert snake_case(name) == expected
