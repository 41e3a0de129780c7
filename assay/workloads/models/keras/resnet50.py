"""ResNet50 in Keras, as a subclassed model, and as the functional one that its calls trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import layers

from assay.workloads.models.keras.layers import channel_axis, image_input
from assay.workloads.resnet50 import EPSILON, MOMENTUM, block_specs


def functional_model(image_size: int, blocks: Sequence[int], narrower: int, classes: int) -> Any:
    """A flat graph of single layers: each block's `call` is traced, not the block."""
    stem, body, head = _parts(blocks, narrower, classes)
    inputs = values = image_input(image_size)
    for layer in stem:
        values = layer(values)
    for block in body:
        values = block.call(values)
    for layer in head:
        values = layer(values)
    return keras.Model(inputs, values, name="resnet50")


def subclassed_model(image_size: int, blocks: Sequence[int], narrower: int, classes: int) -> Any:
    model = ResNet50(blocks, narrower, classes)
    model(image_input(image_size))  # makes its weights
    return model


class ResNet50(keras.Model):  # type: ignore[misc]
    def __init__(self, blocks: Sequence[int], narrower: int, classes: int) -> None:
        super().__init__(name="resnet50")
        self.stem, self.body, self.head = _parts(blocks, narrower, classes)

    def call(self, values: Any, training: bool = False) -> Any:
        # passed on explicitly: Keras sets `training` only for calls that have the argument
        for layer in (*self.stem, *self.body, *self.head):
            values = layer(values, training=training)
        return values


class Bottleneck(layers.Layer):  # type: ignore[misc]
    """1 x 1, 3 x 3, 1 x 1, with a shortcut: the input or its projection."""

    def __init__(self, filters: int, stride: int, projects: bool) -> None:
        super().__init__()
        self.narrow, self.narrow_norm = layers.Conv2D(filters, 1, strides=stride), _norm()
        self.middle, self.middle_norm = layers.Conv2D(filters, 3, padding="same"), _norm()
        # In the order a functional model lists them, so that seeded weights are equal in each style
        self.around = layers.Conv2D(4 * filters, 1, strides=stride) if projects else None
        self.wide = layers.Conv2D(4 * filters, 1)
        self.around_norm = _norm() if projects else None
        self.wide_norm = _norm()
        self.relu = [layers.ReLU() for _ in range(3)]
        self.add = layers.Add()

    def call(self, values: Any, training: bool | None = None) -> Any:
        shortcut = values
        if self.around and self.around_norm:
            shortcut = self.around_norm(self.around(values), training=training)
        values = self.relu[0](self.narrow_norm(self.narrow(values), training=training))
        values = self.relu[1](self.middle_norm(self.middle(values), training=training))
        values = self.wide_norm(self.wide(values), training=training)
        return self.relu[2](self.add([shortcut, values]))


def _parts(
    blocks: Sequence[int], narrower: int, classes: int
) -> tuple[list[Any], list[Any], list[Any]]:
    stem = [
        layers.ZeroPadding2D(3),
        layers.Conv2D(max(1, 64 // narrower), 7, strides=2),
        _norm(),
        layers.ReLU(),
        layers.ZeroPadding2D(1),
        layers.MaxPooling2D(3, strides=2),
    ]
    body = [Bottleneck(*sizes[1:]) for sizes in block_specs(blocks, narrower)]
    return stem, body, [layers.GlobalAveragePooling2D(), layers.Dense(classes)]


def _norm() -> Any:
    return layers.BatchNormalization(axis=channel_axis(), momentum=MOMENTUM, epsilon=EPSILON)
