"""ResNet50 in PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn
from torch.nn import functional

from assay.workloads.models.torch.load import load_weights
from assay.workloads.resnet50 import EPSILON, MOMENTUM, block_specs


def model(
    arrays: Mapping[str, Any], image_size: int, blocks: Sequence[int], narrower: int, classes: int
) -> nn.Module:
    return load_weights(lambda: ResNet(blocks, narrower, classes), arrays)


class ResNet(nn.Module):  # type: ignore[misc]
    def __init__(self, blocks: Sequence[int], narrower: int, classes: int) -> None:
        super().__init__()
        width = max(1, 64 // narrower)
        self.stem, self.stem_norm = nn.Conv2d(3, width, 7, 2, 3), norm(width)
        # torch pads with -inf; Keras' zeros give the same maximum after a ReLU
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.blocks = nn.Sequential(
            *(TorchBottleneck(*sizes) for sizes in block_specs(blocks, narrower))
        )
        self.head = nn.Linear(block_specs(blocks, narrower)[-1][1] * 4, classes)

    def forward(self, values: Any) -> Any:
        values = self.pool(functional.relu(self.stem_norm(self.stem(values))))
        return self.head(self.blocks(values).mean((2, 3)))


class TorchBottleneck(nn.Module):  # type: ignore[misc]
    """1 x 1, 3 x 3, 1 x 1, with a shortcut: the input or its projection."""

    def __init__(self, before: int, filters: int, stride: int, projects: bool) -> None:
        super().__init__()
        wide = 4 * filters
        self.narrow, self.narrow_norm = nn.Conv2d(before, filters, 1, stride), norm(filters)
        self.middle, self.middle_norm = nn.Conv2d(filters, filters, 3, padding=1), norm(filters)
        self.wide, self.wide_norm = nn.Conv2d(filters, wide, 1), norm(wide)
        self.around = nn.Conv2d(before, wide, 1, stride) if projects else None
        self.around_norm = norm(wide) if projects else None

    def forward(self, values: Any) -> Any:
        shortcut = values
        if self.around is not None and self.around_norm is not None:
            shortcut = self.around_norm(self.around(values))
        values = functional.relu(self.narrow_norm(self.narrow(values)))
        values = functional.relu(self.middle_norm(self.middle(values)))
        return functional.relu(shortcut + self.wide_norm(self.wide(values)))


def norm(channels: int) -> nn.Module:
    return nn.BatchNorm2d(channels, eps=EPSILON, momentum=1 - MOMENTUM)
