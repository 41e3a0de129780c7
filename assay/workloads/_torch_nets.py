"""A Net as a torch.nn.Sequential, which takes channels first whatever the memory format."""

from __future__ import annotations

from typing import Any

from assay.workloads.nets import Conv, Dense, Dropout, Flatten, Layer, Net, Norm, Pool, Shape


def model(net: Net, arrays: list[Any]) -> Any:  # noqa: ANN401 (a torch.nn.Module)
    import torch

    shapes = net.shapes()
    built = torch.nn.Sequential(
        *(_layer(layer, shape) for layer, shape in zip(net.layers, shapes, strict=False))
    )
    with torch.no_grad():
        for weight, array in zip(built.parameters(), _converted(net, arrays), strict=True):
            weight.copy_(torch.from_numpy(array))
    return built


def _layer(layer: Layer, shape: Shape) -> Any:  # noqa: ANN401
    from torch import nn

    match layer:
        case Conv(filters, kernel, padding):
            return nn.Conv2d(shape[-1], filters, kernel, padding=padding)
        case Dense(units):
            return nn.Linear(shape[0], units)
        case Pool(size):
            return nn.MaxPool2d(size)
        case Dropout(rate):
            return nn.Dropout(rate)
        case Flatten():
            return nn.Flatten()
        case Norm():
            from assay.workloads._torch_norm import BatchNorm

            return BatchNorm(shape[-1], layer)
    return nn.ReLU()


def _converted(net: Net, arrays: list[Any]) -> list[Any]:
    """Kernels and biases in torch's order of axes."""
    left = iter(arrays)
    found: list[Any] = []
    flattened: Shape = ()
    for layer, shape in zip(net.layers, net.shapes(), strict=False):
        if isinstance(layer, Flatten):
            flattened = shape
        elif isinstance(layer, Conv):
            found += [next(left).transpose(3, 2, 0, 1).copy(), next(left)]
        elif isinstance(layer, Dense):
            found += [_dense(next(left), flattened), next(left)]
            flattened = ()
        elif isinstance(layer, Norm):
            found.append(next(left))
    return found


def _dense(kernel: Any, flattened: Shape) -> Any:  # noqa: ANN401 (numpy arrays)
    """After a flatten the rows stand for (h, w, c), and torch flattens (c, h, w)."""
    if len(flattened) == 3:
        rows = kernel.reshape(*flattened, -1).transpose(2, 0, 1, 3)
        kernel = rows.reshape(kernel.shape)
    return kernel.T.copy()
