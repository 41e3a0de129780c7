"""Xception in PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn
from torch.nn import functional

from assay.workloads.models.torch.load import load_weights
from assay.workloads.net.layers import EPSILON, MOMENTUM
from assay.workloads.xception import FLOW, widths


def model(
    arrays: Mapping[str, Any], image_size: int, middle: int, narrower: int, classes: int
) -> nn.Module:
    return load_weights(lambda: Xception(middle, narrower, classes), arrays)


class Xception(nn.Module):  # type: ignore[misc]
    def __init__(self, middle: int, narrower: int, classes: int) -> None:
        super().__init__()
        first, second, core, *last = widths(narrower, 32, 64, 728, 1024, 1536, 2048)
        self.stem = nn.ModuleList([ConvBN(3, first, 2), ConvBN(first, second, 1)])
        self.entry, before = nn.ModuleList(), second
        for number, filters in enumerate(widths(narrower, *FLOW)):
            self.entry.append(DownsampleBlock(before, filters, filters, relu_first=number > 0))
            before = filters
        self.middle = nn.ModuleList(
            nn.ModuleList(SeparableConvBN(core, core) for _ in range(3)) for _ in range(middle)
        )
        self.exit = DownsampleBlock(core, core, last[0])
        self.last = nn.ModuleList(
            [SeparableConvBN(last[0], last[1]), SeparableConvBN(last[1], last[2])]
        )
        self.head = nn.Linear(last[2], classes)

    def forward(self, values: Any) -> Any:
        for layer in self.stem:
            values = functional.relu(layer(values))
        for block in self.entry:
            values = block(values)
        for block in self.middle:
            shortcut = values
            for layer in block:
                values = layer(functional.relu(values))
            values = values + shortcut
        values = self.exit(values)
        for layer in self.last:
            values = functional.relu(layer(values))
        return self.head(values.mean((2, 3)))


class ConvBN(nn.Module):  # type: ignore[misc]
    """A convolution without a bias, and its norm."""

    def __init__(self, before: int, filters: int, stride: int, size: int = 3) -> None:
        super().__init__()
        self.conv = nn.Conv2d(before, filters, size, stride, bias=False)
        self.norm = _norm(filters)

    def forward(self, values: Any) -> Any:
        return self.norm(self.conv(values))


class SeparableConvBN(nn.Module):  # type: ignore[misc]
    """A kernel for each channel, then one for each pixel, and a norm."""

    def __init__(self, before: int, filters: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(before, before, 3, padding=1, groups=before, bias=False)
        self.pointwise = nn.Conv2d(before, filters, 1, bias=False)
        self.norm = _norm(filters)

    def forward(self, values: Any) -> Any:
        return self.norm(self.pointwise(self.depthwise(values)))


class DownsampleBlock(nn.Module):  # type: ignore[misc]
    """Two separable convolutions and a max pool, with a strided 1x1 shortcut."""

    def __init__(self, before: int, first: int, second: int, relu_first: bool = True) -> None:
        super().__init__()
        self.relu_first = relu_first
        self.first, self.second = SeparableConvBN(before, first), SeparableConvBN(first, second)
        self.around = ConvBN(before, second, 2, 1)

    def forward(self, values: Any) -> Any:
        shortcut = self.around(values)
        values = self.first(functional.relu(values) if self.relu_first else values)
        values = self.second(functional.relu(values))
        # Keras pads an odd side at both ends, an even one at its end
        odd = values.shape[-1] % 2
        return functional.max_pool2d(values, 3, 2, odd, ceil_mode=not odd) + shortcut


def _norm(channels: int) -> nn.Module:
    return nn.BatchNorm2d(channels, eps=EPSILON, momentum=1 - MOMENTUM)
