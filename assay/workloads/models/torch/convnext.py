"""ConvNeXt in PyTorch: norms and dense layers work on channels last, a view in torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn
from torch.nn import functional

from assay.workloads.convnext import EPSILON, stages
from assay.workloads.models.torch.load import Weight, load_weights


def model(
    arrays: Mapping[str, Any], image_size: int, classes: int, deep: int, width: int
) -> nn.Module:
    return load_weights(lambda: ConvNeXt(classes, deep, width), arrays)


class ConvNeXt(nn.Module):  # type: ignore[misc]
    def __init__(self, classes: int, deep: int, width: int) -> None:
        super().__init__()
        self.stem, self.stem_norm = nn.Conv2d(3, width, 4, 4), ChannelNorm(width)
        self.stages = nn.ModuleList(Stage(*sizes) for sizes in stages(deep, width))
        last = width * 8
        self.norm, self.head = nn.LayerNorm(last, EPSILON), nn.Linear(last, classes)

    def forward(self, values: Any) -> Any:
        values = self.stem_norm(self.stem(values))
        for stage in self.stages:
            values = stage(values)
        return self.head(self.norm(values.mean((2, 3))))


class Stage(nn.Module):  # type: ignore[misc]
    """Blocks of one width; all stages but the first halve the image first."""

    def __init__(self, before: int, width: int, count: int) -> None:
        super().__init__()
        self.norm = ChannelNorm(before) if before else None
        self.shrink = nn.Conv2d(before, width, 2, 2) if before else None
        self.blocks = nn.Sequential(*(ConvNeXtBlock(width) for _ in range(count)))

    def forward(self, values: Any) -> Any:
        if self.norm is not None and self.shrink is not None:
            values = self.shrink(self.norm(values))
        return self.blocks(values)


class ConvNeXtBlock(nn.Module):  # type: ignore[misc]
    """7 x 7 depthwise, then two dense layers on each pixel."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.across = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, EPSILON)
        self.expand, self.shrink = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = Weight(width)

    def forward(self, values: Any) -> Any:
        branch = self.norm(self.across(values).permute(0, 2, 3, 1))
        branch = self.shrink(functional.gelu(self.expand(branch))) * self.scale.weight
        return values + branch.permute(0, 3, 1, 2)


class ChannelNorm(nn.LayerNorm):  # type: ignore[misc]
    """Over the channels of each pixel."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, EPSILON)

    def forward(self, values: Any) -> Any:
        return super().forward(values.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
