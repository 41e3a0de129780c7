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
    LayerPosition,
    Norm,
    Pool,
    Residual,
    ScaledNorm,
    Tanh,
)
from assay.workloads.net.nets import Net


def model(net: Net, arrays: Mapping[str, Any]) -> Any:
    """Layers are named as their weights; a net with branches is a functional model."""
    import keras

    from assay.workloads.models.keras.seeded import no_random_initializers

    shape = net.input_shape
    if len(shape) == 3 and keras.config.image_data_format() == "channels_first":
        shape = (shape[2], *shape[:2])
    with no_random_initializers():
        built = _build(net, keras.Input(shape))
    _assign(built, arrays)
    return built


def _build(net: Net, inputs: Any) -> Any:
    import keras

    positions = iter(net.positions())
    if any(isinstance(layer, Residual) for layer in net.layers):
        return keras.Model(inputs, _through(net.layers, inputs, positions))
    return keras.Sequential(
        [inputs, *(part for position in positions for part in _layers_at(position))]
    )


def _through(layers: tuple[Layer, ...], values: Any, left: Iterator[LayerPosition]) -> Any:
    """Call the layers one after the other, creating them in the order of `left`."""
    from keras import layers as kinds

    for layer in layers:
        if isinstance(layer, Residual):
            body = _through(layer.body, values, left)
            values = kinds.add([body, _through(layer.shortcut, values, left)])
        else:
            for part in _layers_at(next(left)):
                values = part(values)
    return values


def _assign(model: Any, arrays: Mapping[str, Any]) -> None:
    for name, array in arrays.items():
        layer, _, variable = name.partition("/")
        next(own for own in model.get_layer(layer).weights if own.name == variable).assign(array)


def _layers_at(position: LayerPosition) -> Iterator[Any]:
    """A layer, after a padding layer if it pads by a number."""
    from keras import layers

    match position.layer:
        case Conv(padding=int(padding)) | Depthwise(padding=int(padding)):
            if padding:
                yield layers.ZeroPadding2D(padding)
    kwargs = {"name": position.name} if position.name else {}
    yield _weight_layer(position.layer, kwargs) if position.name else _plain(position.layer)


def _weight_layer(layer: Layer, kwargs: dict[str, str]) -> Any:
    from keras import layers

    match layer:
        case Conv(filters, kernel, padding, stride, bias):
            padding = "valid" if isinstance(padding, int) else padding
            return layers.Conv2D(filters, kernel, stride, padding, use_bias=bias, **kwargs)
        case Depthwise(kernel, _, stride):
            return layers.DepthwiseConv2D(kernel, stride, "valid", use_bias=False, **kwargs)
        case Dense(units):
            return layers.Dense(units, **kwargs)
        case Norm() | ScaledNorm():
            return _norm(layer, kwargs)
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


def _norm(norm: Norm | ScaledNorm, kwargs: dict[str, str]) -> Any:
    from keras import layers

    from assay.workloads.models.keras.layers import BatchStatistics, channel_axis

    scale = isinstance(norm, ScaledNorm)
    if isinstance(norm, Norm):
        if norm.fused:
            raise EndingError("skipped", NO_FUSED["keras"])
        if not norm.running:
            return BatchStatistics(EPSILON, **kwargs)
    return layers.BatchNormalization(
        axis=channel_axis(), momentum=MOMENTUM, epsilon=EPSILON, scale=scale, **kwargs
    )
