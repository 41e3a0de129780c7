"""A Net as a torch.nn.Module, which takes channels first whatever the memory format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from assay.workloads.net.layers import (
    EPSILON,
    MOMENTUM,
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
    Shape,
    Tanh,
)
from assay.workloads.net.nets import Net

# Keras' name of a variable → torch's, where they differ.
_NAMES = {
    "kernel": "weight",
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
}


class Sum(nn.Module):  # type: ignore[misc]
    """A residual block."""

    def __init__(self, body: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, values: Any) -> Any:
        return self.body(values) + self.shortcut(values)


def model(net: Net, arrays: Mapping[str, Any]) -> Any:
    modules: dict[str, Any] = {}
    network = _sequence(net.layers, iter(net.positions()), modules)
    flattened = net.flattened_shapes()
    with torch.no_grad():
        for name, array in arrays.items():
            layer, _, variable = name.partition("/")
            values = _to_torch_layout(layer, array, flattened.get(layer, ()))
            _variable(modules[layer], variable).copy_(torch.from_numpy(values))
    return network


def _sequence(
    layers: tuple[Layer, ...], left: Iterator[LayerPosition], modules: dict[str, Any]
) -> nn.Sequential:
    """Built in order of creation; those with weights are put into `modules` by name."""
    children = []
    for layer in layers:
        if isinstance(layer, Residual):
            body = _sequence(layer.body, left, modules)
            children.append(Sum(body, _sequence(layer.shortcut, left, modules)))
            continue
        position = next(left)
        children.append(_weight_layer(position) if position.name else _plain(layer))
        if position.name:
            modules[position.name] = children[-1]
    return nn.Sequential(*children)


def _weight_layer(position: LayerPosition) -> nn.Module:
    channels = position.before[-1]
    match position.layer:
        case Conv(filters, kernel, padding, stride, bias):
            return nn.Conv2d(channels, filters, kernel, stride, padding, bias=bias)
        case Depthwise(kernel, padding, stride):
            return nn.Conv2d(
                channels, channels, kernel, stride, padding, groups=channels, bias=False
            )
        case Dense(units):
            return nn.Linear(channels, units)
        case Norm():
            return TorchBatchNorm(channels, position.layer)
        case ScaledNorm():
            return nn.BatchNorm2d(channels, eps=EPSILON, momentum=1 - MOMENTUM)
    raise TypeError(f"{position.layer} has no weights")


def _plain(layer: Layer) -> nn.Module:
    match layer:
        case Pool(size, _, mean):
            return (nn.AvgPool2d if mean else nn.MaxPool2d)(size, layer.step)
        case Dropout(rate):
            return nn.Dropout(rate)
        case Flatten():
            return nn.Flatten()
        case Tanh():
            return nn.Tanh()
    return nn.ReLU()


def _variable(module: Any, name: str) -> Any:
    if isinstance(module, TorchBatchNorm):
        return module.offset
    return getattr(module, _NAMES.get(name, name))


def _to_torch_layout(layer: str, array: Any, flattened: Shape) -> Any:
    """In torch's order of axes, in which a depthwise kernel's channels are its outputs."""
    if array.ndim == 4:
        depthwise = layer.startswith("depthwise")
        return array.transpose((2, 3, 0, 1) if depthwise else (3, 2, 0, 1)).copy()
    if array.ndim == 2:
        return _dense(array, flattened)
    return array


def _dense(kernel: Any, flattened: Shape) -> Any:
    """After a flatten the rows are (h, w, c), but torch flattens (c, h, w)."""
    if len(flattened) == 3:
        rows = kernel.reshape(*flattened, -1).transpose(2, 0, 1, 3)
        kernel = rows.reshape(kernel.shape)
    return kernel.T.copy()


class TorchBatchNorm(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, channels: int, norm: Norm) -> None:
        super().__init__()
        self._norm = norm
        self.offset = torch.nn.Parameter(torch.zeros(channels))
        # cuDNN's fused kernel needs a scale; as a buffer it is not trained
        self.register_buffer("scale", torch.ones(channels))
        self.register_buffer("mean", torch.zeros(channels) if norm.running else None)
        self.register_buffer("variance", torch.ones(channels) if norm.running else None)

    def forward(self, values: Any) -> Any:
        by_batch = self.training or not self._norm.running
        if self._norm.fused:
            return functional.batch_norm(
                values,
                self.mean,
                self.variance,
                self.scale,
                self.offset,
                training=by_batch,
                momentum=1 - MOMENTUM,
                eps=EPSILON,
            )
        exact = values.float()
        mean, variance = self._batch_statistics(exact) if by_batch else (self.mean, self.variance)
        wide = (-1, 1, 1)
        outputs = (exact - mean.view(wide)) * torch.rsqrt(variance.view(wide) + EPSILON)
        return (outputs + self.offset.view(wide)).to(values.dtype)

    def _batch_statistics(self, values: Any) -> tuple[Any, Any]:
        variance, mean = torch.var_mean(values, (0, 2, 3), correction=0)
        if self.training and self._norm.running:
            with torch.no_grad():
                self.mean.lerp_(mean.to(self.mean.dtype), 1 - MOMENTUM)
                self.variance.lerp_(variance.to(self.variance.dtype), 1 - MOMENTUM)
        return mean, variance
