"""Preprocess stored images to the float32 inputs of a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import UsageError, unknown_name_error

FORMATS = ("channels_last", "channels_first")


@dataclass(frozen=True)
class Rule:
    """(x - mean) / deviation, with one mean for all channels or one per channel."""

    mean: float | tuple[float, float, float]
    deviation: float


# Over all channels of the training images, as in HPVM's scripts.
_CIFAR10_MEAN, _CIFAR10_DEVIATION = 120.70757293701172, 64.15007019042969

RULES = {
    "none": Rule(0.0, 1.0),
    "mnist": Rule(0.0, 255.0),
    "cifar10": Rule(_CIFAR10_MEAN, _CIFAR10_DEVIATION + 1e-7),
    # HPVM trained its ResNet-18 without the deviation; its own weights need this one.
    "cifar10-centred": Rule(_CIFAR10_MEAN, 255.0),
    # As published with cifar-vgg (Geifman, 2018), the source of HPVM's VGG16.
    "cifar100": Rule(121.936, 68.389 + 1e-7),
    # Red, green, blue: means of VGG16 (Simonyan and Zisserman, 2014).
    "imagenet-means": Rule((123.68, 116.779, 103.939), 1.0),
}


def prepare(
    images: NDArray[Any], rule: str, data_format: str = "channels_last"
) -> NDArray[np.float32]:
    """Stored channels-last images → float32 inputs."""
    if rule not in RULES:
        raise unknown_name_error("preparation", rule, RULES)
    ready: NDArray[np.float32] = to_data_format(_normalize(images, RULES[rule]), data_format)
    return ready


def to_data_format(images: NDArray[Any], data_format: str) -> NDArray[Any]:
    """Convert channels-last images to a data format, contiguous in memory."""
    if data_format not in FORMATS:
        raise unknown_name_error("data format", data_format, FORMATS)
    if images.ndim != 4:
        raise UsageError(
            f"Images have the shape {images.shape}, but need four axes.",
            hint="Images, rows, columns, channels.",
        )
    ordered = images if data_format == "channels_last" else images.transpose(0, 3, 1, 2)
    return np.ascontiguousarray(ordered)


def _normalize(images: NDArray[Any], rule: Rule) -> NDArray[np.float32]:
    if images.dtype == np.float32 and rule == RULES["none"]:
        return images
    ready = images.astype(np.float32)
    ready -= np.asarray(rule.mean, np.float32)
    ready /= np.float32(rule.deviation)
    return ready
