"""The networks are those of the studies they come from."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core import registry
from assay.core.errors import UsageError
from assay.workloads.net import layers, nets


def net(workload: str, **other: int) -> nets.Net:
    sizes = {**registry.workload(workload).params, **other}
    del sizes["batch_size"], sizes["seed"]
    return registry.workload(workload).net(**sizes)


def test_vgg16_has_the_parameters_and_the_arithmetic_of_model_d():
    found = net("vgg16")

    assert found.parameters() == 138_357_544
    assert found.multiply_adds() == 15_470_264_320
    assert not any(isinstance(layer, layers.Dropout) for layer in found.layers)


def test_cifar10_cnn_has_the_shapes_of_the_keras_example():
    found = net("cifar10-cnn")

    shapes = found.weight_shapes()
    kernels = [shape for name, shape in shapes.items() if name.endswith("kernel")]
    assert kernels[:4] == [(3, 3, 3, 32), (3, 3, 32, 32), (3, 3, 32, 64), (3, 3, 64, 64)]
    assert kernels[4:] == [(6 * 6 * 64, 512), (512, 10)]
    assert [layer.rate for layer in found.layers if isinstance(layer, layers.Dropout)] == [
        0.25,
        0.25,
        0.5,
    ]


def test_a_picture_too_small_for_five_pools_is_refused():
    with pytest.raises(UsageError, match="image_size of vgg16 is 31"):
        net("vgg16", image_size=31)


def test_data_and_weights_come_from_the_seed_alone_and_are_not_zero():
    small = net("cifar10-cnn", filters=2, units=4)

    pictures, labels = nets.batch(small, 64, seed=1)
    again, _ = nets.batch(small, 64, seed=1)
    other, _ = nets.batch(small, 64, seed=2)

    assert (pictures == again).all() and not (pictures == other).all()
    assert pictures.dtype == np.float32 and -1 <= pictures.min() < 0 < pictures.max() < 1
    assert set(labels) <= set(range(10)) and len(set(labels)) > 1
    assert all(array.any() for array in nets.weights(small, seed=1).values())
