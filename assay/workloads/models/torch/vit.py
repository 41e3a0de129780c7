"""The vision transformer in PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from assay.workloads.models.torch.load import Weight, load_weights
from assay.workloads.models.torch.transformer import TorchBlock
from assay.workloads.vit import EPSILON


def model(arrays: Mapping[str, Any], **sizes: int) -> nn.Module:
    return load_weights(lambda: VisionTransformer(**sizes), arrays)


class VisionTransformer(nn.Module):  # type: ignore[misc]
    """Patches and a class token, whose last state is classified."""

    def __init__(
        self, image_size: int, patch: int, classes: int, layers: int, width: int, heads: int
    ) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = Weight(1, 1, width)
        self.positions = Weight((image_size // patch) ** 2 + 1, width)
        self.blocks = nn.ModuleList(
            TorchBlock(width, heads, epsilon=EPSILON) for _ in range(layers)
        )
        self.norm, self.head = nn.LayerNorm(width, EPSILON), nn.Linear(width, classes)

    def forward(self, images: Any) -> Any:
        values = self.patches(images).flatten(2).transpose(1, 2)
        first = self.token.weight.to(values.dtype).expand(len(values), -1, -1)
        values = torch.cat([first, values], 1) + self.positions.weight
        for block in self.blocks:
            values = block(values)
        return self.head(self.norm(values[:, 0]))
