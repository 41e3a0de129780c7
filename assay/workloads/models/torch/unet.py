"""U-Net in PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from assay.workloads.models.torch.load import load_weights
from assay.workloads.unet import DEPTH


def model(arrays: Mapping[str, Any], image_size: int, filters: int, classes: int) -> nn.Module:
    return load_weights(lambda: UNet(filters, classes), arrays)


class UNet(nn.Module):  # type: ignore[misc]
    def __init__(self, filters: int, classes: int) -> None:
        super().__init__()
        widths = [filters << level for level in range(DEPTH + 1)]
        self.down = nn.ModuleList(
            Pair(before, width) for before, width in zip([3, *widths], widths, strict=False)
        )
        self.wider = nn.ModuleList(
            nn.ConvTranspose2d(2 * width, width, 2, 2) for width in widths[:-1]
        )
        self.up = nn.ModuleList(Pair(2 * width, width) for width in widths[:-1])
        self.head = nn.Conv2d(filters, classes, 1)

    def forward(self, values: Any) -> Any:
        across = []
        for level, pair in enumerate(self.down):
            values = pair(functional.max_pool2d(values, 2) if level else values)
            across.append(values)
        for level in reversed(range(DEPTH)):
            values = torch.cat([across[level], self.wider[level](values)], 1)
            values = self.up[level](values)
        return self.head(values).permute(0, 2, 3, 1)  # the loss is over the last axis


class Pair(nn.Module):  # type: ignore[misc]
    """Two convolutions, each with a ReLU."""

    def __init__(self, before: int, filters: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, filters, 3, padding=1)
        self.second = nn.Conv2d(filters, filters, 3, padding=1)

    def forward(self, values: Any) -> Any:
        return functional.relu(self.second(functional.relu(self.first(values))))
