"""Layers that are missing in Keras, for images in the layout Keras is set to."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops


def channel_axis() -> int:
    """Of a batch of images."""
    return -1 if keras.config.image_data_format() == "channels_last" else 1


def image_input(image_size: int, channels: int = 3) -> Any:
    shape = (image_size, image_size, channels)
    if channel_axis() == 1:
        shape = (channels, image_size, image_size)
    return keras.Input(shape)


class LayerScale(layers.Layer):  # type: ignore[misc]
    """A learned factor for each channel (Touvron and others, 2021)."""

    def build(self, shape: Any) -> None:
        self.gamma = self.add_weight(shape=(shape[channel_axis()],), name="gamma")

    def call(self, values: Any) -> Any:
        wide = (-1,) if channel_axis() == -1 else (-1, 1, 1)
        return values * ops.reshape(self.gamma, wide)


class BatchStatistics(layers.Layer):  # type: ignore[misc]
    """Batch norm by the batch's statistics, also in inference: mode 2 of Keras 1. No scale."""

    def __init__(self, epsilon: float, **kwargs: str) -> None:
        super().__init__(**kwargs)
        self.epsilon = epsilon

    def build(self, shape: Any) -> None:
        self.beta = self.add_weight(shape=(shape[channel_axis()],), name="beta")

    def call(self, values: Any) -> Any:
        exact = ops.cast(values, "float32")
        mean, variance = ops.moments(exact, (0, 1, 2) if channel_axis() == -1 else (0, 2, 3))
        outputs = ops.batch_normalization(
            exact, mean, variance, channel_axis(), offset=self.beta, epsilon=self.epsilon
        )
        return ops.cast(outputs, values.dtype)
