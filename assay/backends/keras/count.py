"""Multiply-adds of a Keras model, counted layer by layer from the shapes of a pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from keras import layers, ops

Count = Callable[[Any, Any, Any], float]  # of a layer, what went in and what came out
GATE_COUNTS = {"LSTM": 4, "GRU": 3, "SimpleRNN": 1}


def multiply_adds(trace: Callable[[], object]) -> float:
    """Of one forward pass, which `trace` computes or traces; 0 if not known."""
    with _count_layer_calls() as counts:
        trace()
    total = sum(counts)
    return total if math.isfinite(total) else 0.0


@contextmanager
def _count_layer_calls() -> Iterator[list[float]]:
    """Patch the call of every layer, and the product operations, which users' layers call.

    Keras' own layers do not use the public operations, so nothing is counted twice.
    """
    counts: list[float] = []
    call, products = layers.Layer.__call__, {name: getattr(ops, name) for name in PRODUCTS}

    def count_layer(layer: Any, *args: Any, **named: object) -> Any:
        outputs = call(layer, *args, **named)
        count = next((LAYERS[kind] for kind in LAYERS if isinstance(layer, kind)), None)
        if count:
            known = bool(args) and _has_known_shape(args[0]) and _has_known_shape(outputs)
            counts.append(count(layer, args[0], outputs) if known else math.nan)
        return outputs

    def count_product(name: str) -> Callable[..., Any]:
        def product(*args: Any, **named: object) -> Any:
            outputs = products[name](*args, **named)
            known = len(args) > 1 and all(map(_has_known_shape, (*args, outputs)))
            counts.append(PRODUCTS[name](args, outputs) if known else math.nan)
            return outputs

        return product

    layers.Layer.__call__ = count_layer
    for name in PRODUCTS:
        setattr(ops, name, count_product(name))
    try:
        yield counts
    finally:
        layers.Layer.__call__ = call
        for name, own in products.items():
            setattr(ops, name, own)


def _has_known_shape(tensor: object) -> bool:
    """Whether all sizes are known; arguments without a shape, such as an equation, are fine."""
    return None not in tuple(getattr(tensor, "shape", ()))


def _size(tensor: Any) -> float:
    return _product(tensor.shape)


def _product(sizes: Iterable[int]) -> float:
    return float(math.prod(sizes))


def _convolution(layer: Any, _: Any, out: Any) -> float:
    return _size(out) * _product(layer.kernel.shape[:-1])


def _conv_transpose(layer: Any, values: Any, _: Any) -> float:
    """Every input is multiplied by the whole kernel of its channel: (rows, columns, out, in)."""
    return _size(values) * _product(layer.kernel.shape[:-1])


def _depthwise(layer: Any, _: Any, out: Any) -> float:
    return _size(out) * _product(layer.kernel.shape[:-2])


def _separable(layer: Any, _: Any, out: Any) -> float:
    """A depthwise convolution, with as many output positions, then a pointwise one."""
    *window, channels, multiplier = layer.depthwise_kernel.shape
    places, between = _size(out) / layer.pointwise_kernel.shape[-1], int(channels * multiplier)
    return float(places * between * _product(window) + _size(out) * between)


def _dense(layer: Any, _: Any, out: Any) -> float:
    return _size(out) * int(layer.kernel.shape[0])


def _einsum_dense(layer: Any, values: Any, _: Any) -> float:
    return _einsum((layer.equation, values, layer.kernel), None)


def _recurrent(layer: Any, values: Any, _: Any) -> float:
    batch, length, features = values.shape
    gates = next(
        count for name, count in GATE_COUNTS.items() if isinstance(layer, getattr(layers, name))
    )
    return float(batch * length * gates * layer.units * (features + layer.units))


def _matmul(args: Sequence[Any], out: Any) -> float:
    return _size(out) * int(args[0].shape[-1])


def _attention(args: Sequence[Any], _: Any) -> float:
    """Queries by keys, weights by values; both (batch, length, heads, depth)."""
    return 2 * _size(args[0]) * int(args[1].shape[1])


def _einsum(args: Sequence[Any], _: Any) -> float:
    """One for each combination of all indices; dots stand for the remaining axes."""
    equation, *tensors = args
    sizes: dict[str, int] = {}
    for letters, tensor in zip(equation.split("->")[0].split(","), tensors, strict=True):
        named = letters.strip().replace("...", "")
        left = len(tensor.shape) - len(named)
        dots = [f".{axis}" for axis in range(left)]
        first = letters.strip().startswith("...")
        names = [*dots, *named] if first else [*named, *dots]
        sizes |= dict(zip(names, tensor.shape, strict=True))
    return _product(sizes.values())


LAYERS: dict[type, Count] = {
    layers.SeparableConv2D: _separable,
    layers.SeparableConv1D: _separable,
    layers.DepthwiseConv2D: _depthwise,
    layers.DepthwiseConv1D: _depthwise,
    layers.Conv1DTranspose: _conv_transpose,
    layers.Conv2DTranspose: _conv_transpose,
    layers.Conv3DTranspose: _conv_transpose,
    layers.Conv1D: _convolution,
    layers.Conv2D: _convolution,
    layers.Conv3D: _convolution,
    layers.Dense: _dense,
    layers.EinsumDense: _einsum_dense,
    layers.LSTM: _recurrent,
    layers.GRU: _recurrent,
    layers.SimpleRNN: _recurrent,
}
PRODUCTS: dict[str, Callable[[Sequence[Any], Any], float]] = {
    "matmul": _matmul,
    "dot_product_attention": _attention,
    "einsum": _einsum,
}
