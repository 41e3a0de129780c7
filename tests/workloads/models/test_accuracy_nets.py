"""The ten networks are HPVM's: as many weights, as much arithmetic, the same names."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from assay.core import registry
from assay.workloads.accuracy import TEN
from assay.workloads.net import layers

FEW = ("lenet", "alexnet2", "mobilenet-cifar10", "resnet18-cifar10")  # the small ones
NEAR = 1e-4  # of the largest output
# Weights with running averages, those that are trained, and multiply-adds of one image.
SIZES = {
    "lenet": (3_274_634, 3_274_634, 13_883_904),
    "alexnet": (2_510_666, 2_510_666, 239_312_896),
    "alexnet2": (307_498, 307_498, 38_653_952),
    "alexnet-imagenet": (61_100_840, 61_100_840, 714_188_480),
    "mobilenet-cifar10": (3_239_114, 3_217_226, 46_354_432),
    "resnet18-cifar10": (271_690, 271_690, 40_813_184),
    "resnet50-imagenet": (25_636_712, 25_583_592, 3_834_331_136),
    "vgg16-cifar10": (14_982_474, 14_982_474, 313_463_808),
    "vgg16-cifar100": (15_028_644, 15_028_644, 313_509_888),
    "vgg16-imagenet": (138_357_544, 138_357_544, 15_470_264_320),
}


@pytest.mark.parametrize("name", SIZES)
def test_it_has_the_weights_and_the_arithmetic_of_the_original(name):
    net = registry.workload(name).net()

    assert (net.size(), net.parameters(), net.multiply_adds()) == SIZES[name]


def test_there_are_ten_each_with_the_accuracy_of_hpvms_table():
    assert {one.name: one.expected for one in TEN} == {
        "lenet": 98.70,
        "alexnet": 79.28,
        "alexnet2": 84.98,
        "alexnet-imagenet": 56.30,
        "mobilenet-cifar10": 84.42,
        "resnet18-cifar10": 89.56,
        "resnet50-imagenet": 75.10,
        "vgg16-cifar10": 89.96,
        "vgg16-cifar100": 66.50,
        "vgg16-imagenet": 69.46,
    }


def test_the_second_convolution_of_a_block_is_created_before_the_projection_of_its_shortcut():
    shapes = registry.workload("resnet18-cifar10").net().weight_shapes()

    assert shapes["conv2d_8/kernel"] == (3, 3, 16, 32)
    assert shapes["conv2d_9/kernel"] == (3, 3, 32, 32)
    assert shapes["conv2d_10/kernel"] == (1, 1, 16, 32)


def test_the_last_layer_of_lenet_has_a_tanh_and_no_other_net_ends_in_one():
    last = {one.name: type(one.net().layers[-1]) for one in TEN}

    assert last.pop("lenet") is layers.Tanh
    assert set(last.values()) == {layers.Dense}


def built(data_format: str, *chosen: str) -> dict[str, dict]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.workloads.built_ten", data_format, *chosen],
        env={**os.environ, "KERAS_BACKEND": "torch", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        check=True,
    )
    found: dict[str, dict] = json.loads(done.stdout)
    return found


@pytest.mark.real("keras", "torch")
@pytest.mark.timeout(1200)
@pytest.mark.family(chosen="networks")
@pytest.mark.parametrize("chosen", ["few", "all"])
def test_they_are_built_with_these_weights_and_give_the_same_in_keras_and_torch(chosen):
    names = FEW if chosen == "few" else tuple(SIZES)
    found = built("channels_last", *names)

    parameters = {name: (one["keras"], one["torch"]) for name, one in found.items()}
    assert parameters == {name: SIZES[name][:2] for name in names}
    assert [name for name, one in found.items() if one["apart"] > NEAR] == []


@pytest.mark.real("keras", "torch")
@pytest.mark.timeout(600)
def test_layers_are_named_as_their_weights_are_and_channels_first_gives_the_same():
    found = built("channels_first", "mobilenet-cifar10", "resnet18-cifar10", "alexnet2")

    assert [name for name, one in found.items() if one["apart"] > NEAR] == []
    for name, one in found.items():
        shapes = registry.workload(name).net().weight_shapes()
        assert set(one["names"]) == {key.partition("/")[0] for key in shapes}
