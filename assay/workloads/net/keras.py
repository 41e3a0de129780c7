"""A Net as a Keras model, in the image data format Keras is set to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.core.errors import EndingError
from assay.workloads.net.layers import (
    EPSILON,
    MOMENTUM,
    NO_FUSED,
    Conv,
    Dense,
    Depthwise,
    Dropout,
    Flatten,
    Layer,
    Norm,
    Placed,
    Pool,
    Residual,
    ScaledNorm,
    Tanh,
)
from assay.workloads.net.nets import Net


def model(net: Net, arrays: Mapping[str, Any]) -> Any:
    """Its layers are named as their weights are; one that branches is a functional model."""
    import keras

    from assay.workloads.models.keras.seeded import initialised_later

    shape = net.input_shape
    if len(shape) == 3 and keras.config.image_data_format() == "channels_first":
        shape = (shape[2], *shape[:2])
    with initialised_later():
        built = _built(net, keras.Input(shape))
    _assign(built, arrays)
    return built


def _built(net: Net, inputs: Any) -> Any:
    import keras

    left = iter(net.placed())
    if any(isinstance(layer, Residual) for layer in net.layers):
        return keras.Model(inputs, _through(net.layers, inputs, left))
    return keras.Sequential([inputs, *(part for one in left for part in _made(one))])


def _through(layers: tuple[Layer, ...], values: Any, left: Iterator[Placed]) -> Any:
    """The layers called one after the other, created in the order of `left`."""
    from keras import layers as kinds

    for layer in layers:
        if isinstance(layer, Residual):
            body = _through(layer.body, values, left)
            values = kinds.add([body, _through(layer.shortcut, values, left)])
        else:
            for part in _made(next(left)):
                values = part(values)
    return values


def _assign(built: Any, arrays: Mapping[str, Any]) -> None:
    for name, array in arrays.items():
        layer, _, variable = name.partition("/")
        next(own for own in built.get_layer(layer).weights if own.name == variable).assign(array)


def _made(one: Placed) -> Iterator[Any]:
    """A layer; before one that pads by a number, the padding as a layer of its own."""
    from keras import layers

    match one.layer:
        case Conv(padding=int(around)) | Depthwise(padding=int(around)):
            if around:
                yield layers.ZeroPadding2D(around)
    named = {"name": one.name} if one.name else {}
    yield _weighted(one.layer, named) if one.name else _plain(one.layer)


def _weighted(layer: Layer, named: dict[str, str]) -> Any:
    from keras import layers

    match layer:
        case Conv(filters, kernel, padding, stride, bias):
            padding = "valid" if isinstance(padding, int) else padding
            return layers.Conv2D(filters, kernel, stride, padding, use_bias=bias, **named)
        case Depthwise(kernel, _, stride):
            return layers.DepthwiseConv2D(kernel, stride, "valid", use_bias=False, **named)
        case Dense(units):
            return layers.Dense(units, **named)
        case Norm() | ScaledNorm():
            return _norm(layer, named)
    raise TypeError(f"{layer} has no weights")


def _plain(layer: Layer) -> Any:
    from keras import layers

    match layer:
        case Pool(size, _, mean):
            return (layers.AveragePooling2D if mean else layers.MaxPooling2D)(size, layer.step)
        case Dropout(rate):
            return layers.Dropout(rate)
        case Flatten():
            return layers.Flatten()
        case Tanh():
            return layers.Activation("tanh")
    return layers.ReLU()


def _norm(norm: Norm | ScaledNorm, named: dict[str, str]) -> Any:
    from keras import layers

    from assay.workloads.models.keras.layers import BatchStatistics, channel_axis

    scale = isinstance(norm, ScaledNorm)
    if isinstance(norm, Norm):
        if norm.fused:
            raise EndingError("skipped", NO_FUSED["keras"])
        if not norm.running:
            return BatchStatistics(EPSILON, **named)
    return layers.BatchNormalization(
        axis=channel_axis(), momentum=MOMENTUM, epsilon=EPSILON, scale=scale, **named
    )
