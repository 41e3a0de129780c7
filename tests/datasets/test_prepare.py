"""Stored images become what a network was trained on."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.datasets.catalog import DATASETS
from assay.datasets.library import load
from assay.datasets.prepare import RULES, prepare
from tests.datasets.making import WHOLE, needs_whole

PICTURES = np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3)


@pytest.mark.parametrize(
    "rule, value, expected",
    [
        ("none", 51, 51.0),
        ("mnist", 51, 0.2),
        ("cifar10", 255, (255 - 120.70757293701172) / (64.15007019042969 + 1e-7)),
        ("cifar10-centred", 0, -120.70757293701172 / 255),
        ("cifar100", 0, -121.936 / (68.389 + 1e-7)),
    ],
)
def test_a_rule_scales_every_value(rule, value, expected):
    found = prepare(np.full((1, 2, 2, 3), value, np.uint8), rule)

    assert found.dtype == np.float32
    assert found == pytest.approx(np.full((1, 2, 2, 3), expected), rel=1e-6)


def test_imagenet_loses_a_mean_for_each_channel():
    found = prepare(np.zeros((1, 1, 1, 3), np.uint8), "imagenet-means")

    assert found[0, 0, 0].tolist() == pytest.approx([-123.68, -116.779, -103.939])


def test_channels_first_moves_the_channels():
    found = prepare(PICTURES, "none", "channels_first")

    assert found.shape == (2, 3, 4, 4)
    assert found[1, 2, 3, 0] == PICTURES[1, 3, 0, 2]
    assert found.flags["C_CONTIGUOUS"]


def test_stored_pictures_are_left_alone():
    before = PICTURES.copy()

    prepare(PICTURES, "cifar10")

    assert np.array_equal(PICTURES, before)


def test_every_dataset_has_a_rule():
    assert {dataset.preparation for dataset in DATASETS.values()} <= set(RULES)


def test_unknown_rules_and_formats_are_refused():
    with pytest.raises(UsageError, match="no preparation named 'cifar'"):
        prepare(PICTURES, "cifar")
    with pytest.raises(UsageError, match="no data format named 'nchw'"):
        prepare(PICTURES, "none", "nchw")
    with pytest.raises(UsageError, match=r"shape \(4, 4, 3\), but need four axes"):
        prepare(PICTURES[0], "none")


@needs_whole
@pytest.mark.real("PIL")
def test_the_numbers_for_cifar10_are_those_of_its_training_pictures(monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(WHOLE))
    pictures = load("cifar10", "train").inputs

    assert RULES["cifar10"].mean == pytest.approx(pictures.mean(), abs=1e-4)
    assert RULES["cifar10"].deviation == pytest.approx(pictures.std(), abs=1e-4)
