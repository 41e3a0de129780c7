"""Capture Keras image layers: convolutions, pooling, padding."""

from __future__ import annotations

from typing import Any

from keras import layers

from assay.native import ops
from assay.native.capture import unsupported
from assay.native.capture._activations import add_activation
from assay.native.capture._layers import Handler, array
from assay.native.graph import Array, Shape
from assay.native.graph_builder import GraphBuilder, Tensor

FIRST, LAST = (0, 1, 2), (2, 0, 1)  # from an image's axes to channels, rows, columns


def _order(layer: Any) -> tuple[int, ...]:
    return FIRST if layer.data_format == "channels_first" else LAST


def _conv(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    value = builder.reorder(inputs[0], _order(layer))
    kernel = array(layer.kernel).transpose(3, 2, 0, 1)
    weight = builder.constant(f"{name}/kernel", kernel)
    bias = _bias(builder, layer, name)
    options = _window_options(layer, builder.shapes[value], kernel)
    op = ops.ConvOp(weight=weight, bias=bias, groups=layer.groups, **options)
    output = Tensor(builder.add(name, op, value), _order(layer))
    return add_activation(builder, layer.activation, output, name)


def _depthwise(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    value = builder.reorder(inputs[0], _order(layer))
    kernel = _depthwise_weight(array(layer.kernel))
    weight = builder.constant(f"{name}/kernel", kernel)
    bias = _bias(builder, layer, name)
    options = _window_options(layer, builder.shapes[value], kernel)
    op = ops.ConvOp(weight=weight, bias=bias, groups=builder.shapes[value][0], **options)
    output = Tensor(builder.add(name, op, value), _order(layer))
    return add_activation(builder, layer.activation, output, name)


def _separable(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    """A depthwise convolution, then one of 1 x 1 with the bias and the activation."""
    value = builder.reorder(inputs[0], _order(layer))
    kernel = _depthwise_weight(array(layer.depthwise_kernel))
    weight = builder.constant(f"{name}/depthwise_kernel", kernel)
    options = _window_options(layer, builder.shapes[value], kernel)
    depthwise = ops.ConvOp(weight=weight, groups=builder.shapes[value][0], **options)
    value = builder.add(f"{name}/depthwise", depthwise, value)
    point = array(layer.pointwise_kernel).transpose(3, 2, 0, 1)
    weight = builder.constant(f"{name}/pointwise_kernel", point)
    op = ops.ConvOp(weight=weight, bias=_bias(builder, layer, name))
    output = Tensor(builder.add(name, op, value), _order(layer))
    return add_activation(builder, layer.activation, output, name)


def _depthwise_weight(kernel: Array) -> Array:
    """(height, width, in, multiplier) → (in · multiplier, 1, height, width)"""
    height, width, channels, multiplier = kernel.shape
    return kernel.transpose(2, 3, 0, 1).reshape(channels * multiplier, 1, height, width)


def _conv_transpose(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    if layer.output_padding is not None:
        raise unsupported("a Conv2DTranspose with output_padding", name, ("None",))
    value = builder.reorder(inputs[0], _order(layer))
    kernel = array(layer.kernel).transpose(3, 2, 0, 1)
    strides, dilations = _pair(layer.strides), _pair(layer.dilation_rate)
    pads = [0, 0, 0, 0]
    for axis in (0, 1):
        reach, stride = (kernel.shape[2 + axis] - 1) * dilations[axis] + 1, strides[axis]
        overlap = max(reach - stride, 0)
        # `same` gives size * stride results; an odd padding is larger at the end
        pads[axis] = overlap // 2 if layer.padding == "same" else 0
        extra = 0 if layer.padding == "same" else overlap
        pads[2 + axis] = reach - stride - extra - pads[axis]
    op = ops.ConvTransposeOp(
        weight=builder.constant(f"{name}/kernel", kernel),
        bias=_bias(builder, layer, name),
        strides=strides,
        pads=(pads[0], pads[1], pads[2], pads[3]),
        dilations=dilations,
    )
    output = Tensor(builder.add(name, op, value), _order(layer))
    return add_activation(builder, layer.activation, output, name)


def _cropping(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    value = builder.reorder(inputs[0], _order(layer))
    channels, height, width = builder.shapes[value]
    (top, bottom), (left, right) = layer.cropping
    sizes = (channels, height - top - bottom, width - left - right)
    op = ops.SliceOp((0, top, left), sizes, (1, 1, 1))
    return Tensor(builder.add(name, op, value), _order(layer))


def _bias(builder: GraphBuilder, layer: Any, name: str) -> str:
    return builder.constant(f"{name}/bias", array(layer.bias)) if layer.use_bias else ""


def _window_options(layer: Any, shape: Shape, kernel: Array) -> dict[str, Any]:
    """Strides, dilations and padding of a convolution over an image of that shape."""
    strides, dilations = _pair(layer.strides), _pair(layer.dilation_rate)
    reach = [(kernel.shape[2 + axis] - 1) * dilations[axis] + 1 for axis in (0, 1)]
    pads = _pads(layer.padding, shape, (reach[0], reach[1]), strides)
    return {"strides": strides, "dilations": dilations, "pads": pads}


def _pads(padding: str, shape: Shape, reach: ops.Pair, strides: ops.Pair) -> ops.Pads:
    """`same` is the smallest padding for ceil(size / stride) results; the odd one at the end."""
    if padding == "valid":
        return (0, 0, 0, 0)
    assert padding == "same", padding  # Keras has no other for images
    missing = [
        max((-(-size // stride) - 1) * stride + window - size, 0)
        for size, window, stride in zip(shape[1:], reach, strides, strict=True)
    ]
    before = [total // 2 for total in missing]
    return (before[0], before[1], missing[0] - before[0], missing[1] - before[1])


def _pool(kind: Any) -> Handler:
    def add(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
        value = builder.reorder(inputs[0], _order(layer))
        window, strides = _pair(layer.pool_size), _pair(layer.strides)
        pads = _pads(layer.padding, builder.shapes[value], window, strides)
        op = ops.PoolOp(kind, window, strides, pads)
        return Tensor(builder.add(name, op, value), _order(layer))

    return add


def _global_pool(kind: Any) -> Handler:
    def add(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
        value = builder.reorder(inputs[0], _order(layer))
        value = builder.add(name, ops.GlobalPoolOp(kind), value)
        if not layer.keepdims:
            return Tensor(value, (0,))
        shape = (*builder.shapes[value], 1, 1)
        return Tensor(builder.add(f"{name}/kept", ops.ReshapeOp(shape), value), _order(layer))

    return add


def _padding(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    value = builder.reorder(inputs[0], _order(layer))
    (top, bottom), (left, right) = layer.padding
    op = ops.PadOp((top, left, bottom, right))
    return Tensor(builder.add(name, op, value), _order(layer))


def _upsampling(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    if layer.interpolation != "nearest":
        what = f"an UpSampling2D with {layer.interpolation} interpolation"
        raise unsupported(what, name, ("nearest",))
    value = builder.reorder(inputs[0], _order(layer))
    return Tensor(builder.add(name, ops.UpsampleOp(_pair(layer.size)), value), _order(layer))


def _pair(value: Any) -> ops.Pair:
    first, second = (value, value) if isinstance(value, int) else value
    return int(first), int(second)


HANDLERS: dict[type, Handler] = {
    layers.Conv2D: _conv,
    layers.DepthwiseConv2D: _depthwise,
    layers.SeparableConv2D: _separable,
    layers.MaxPooling2D: _pool("max"),
    layers.AveragePooling2D: _pool("average"),
    layers.GlobalMaxPooling2D: _global_pool("max"),
    layers.GlobalAveragePooling2D: _global_pool("average"),
    layers.ZeroPadding2D: _padding,
    layers.Cropping2D: _cropping,
    layers.Conv2DTranspose: _conv_transpose,
    layers.UpSampling2D: _upsampling,
}
