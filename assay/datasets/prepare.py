"""Stored pictures → the float32 numbers a network was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import UsageError, unknown

FORMATS = ("channels_last", "channels_first")


@dataclass(frozen=True)
class Rule:
    """(x - mean) / deviation, with one number for all channels or one for each."""

    mean: float | tuple[float, float, float]
    deviation: float


# Over all channels of the training pictures, as HPVM's scripts take them.
_CIFAR10_MEAN, _CIFAR10_DEVIATION = 120.70757293701172, 64.15007019042969

RULES = {
    "none": Rule(0.0, 1.0),
    "mnist": Rule(0.0, 255.0),
    "cifar10": Rule(_CIFAR10_MEAN, _CIFAR10_DEVIATION + 1e-7),
    # HPVM trained its ResNet-18 without the deviation; its own weights need this one.
    "cifar10-centred": Rule(_CIFAR10_MEAN, 255.0),
    # As published with cifar-vgg (Geifman, 2018), where HPVM's VGG16 comes from.
    "cifar100": Rule(121.936, 68.389 + 1e-7),
    # Red, green, blue: the means VGG16 was published with (Simonyan and Zisserman, 2014).
    "imagenet-means": Rule((123.68, 116.779, 103.939), 1.0),
}


def prepare(
    pictures: NDArray[Any], rule: str, data_format: str = "channels_last"
) -> NDArray[np.float32]:
    """Channels-last pictures as stored → float32 as a network takes them."""
    if rule not in RULES:
        raise unknown("preparation", rule, RULES)
    ready: NDArray[np.float32] = arranged(_scaled(pictures, RULES[rule]), data_format)
    return ready


def arranged(pictures: NDArray[Any], data_format: str) -> NDArray[Any]:
    """Channels-last pictures in the order asked for, one picture after the other in memory."""
    if data_format not in FORMATS:
        raise unknown("data format", data_format, FORMATS)
    if pictures.ndim != 4:
        raise UsageError(
            f"Pictures of shape {pictures.shape} were given, but four axes are needed.",
            hint="Pictures, rows, columns, channels.",
        )
    moved = pictures if data_format == "channels_last" else pictures.transpose(0, 3, 1, 2)
    return np.ascontiguousarray(moved)


def _scaled(pictures: NDArray[Any], rule: Rule) -> NDArray[np.float32]:
    if pictures.dtype == np.float32 and rule == RULES["none"]:
        return pictures
    ready = pictures.astype(np.float32)
    ready -= np.asarray(rule.mean, np.float32)
    ready /= np.float32(rule.deviation)
    return ready
