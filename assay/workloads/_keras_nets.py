"""A Net as a Keras model, in the image data format Keras is set to."""

from __future__ import annotations

from typing import Any

from assay.errors import EndingError
from assay.workloads.nets import (
    EPSILON,
    MOMENTUM,
    NO_FUSED,
    Conv,
    Dense,
    Dropout,
    Flatten,
    Layer,
    Net,
    Norm,
    Pool,
)


def model(net: Net, arrays: list[Any]) -> Any:  # noqa: ANN401 (a keras.Model)
    import keras

    shape = net.input_shape
    if len(shape) == 3 and keras.config.image_data_format() == "channels_first":
        shape = (shape[2], *shape[:2])
    built = keras.Sequential([keras.Input(shape), *(_layer(layer) for layer in net.layers)])
    for variable, array in zip(built.trainable_variables, arrays, strict=True):
        variable.assign(array)
    return built


def _layer(layer: Layer) -> Any:  # noqa: ANN401
    from keras import layers

    match layer:
        case Conv(filters, kernel, padding):
            return layers.Conv2D(filters, kernel, padding=padding)
        case Dense(units):
            return layers.Dense(units)
        case Pool(size):
            return layers.MaxPooling2D(size)
        case Dropout(rate):
            return layers.Dropout(rate)
        case Flatten():
            return layers.Flatten()
        case Norm():
            return _norm(layer)
    return layers.ReLU()


def _norm(norm: Norm) -> Any:  # noqa: ANN401
    from keras import layers

    from assay.workloads._keras_layers import BatchStatistics, channel_axis

    if norm.fused:
        raise EndingError("skipped", NO_FUSED["keras"])
    if not norm.running:
        return BatchStatistics(EPSILON)
    return layers.BatchNormalization(
        axis=channel_axis(), momentum=MOMENTUM, epsilon=EPSILON, scale=False
    )
