"""BERT with a classifier in PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from assay.workloads.models.torch.load import load_weights, table
from assay.workloads.models.torch.transformer import TorchBlock
from assay.workloads.transformer_encoder import EPSILON, POSITIONS


def model(
    arrays: Mapping[str, Any],
    length: int,
    classes: int,
    dropout: float,
    layers: int,
    width: int,
    heads: int,
    vocabulary: int,
) -> nn.Module:
    return load_weights(
        lambda: Encoder(length, classes, dropout, layers, width, heads, vocabulary), arrays
    )


class Encoder(nn.Module):  # type: ignore[misc]
    """Two segments of equal length; norms after each sum, as in BERT."""

    def __init__(
        self,
        length: int,
        classes: int,
        dropout: float,
        layers: int,
        width: int,
        heads: int,
        vocabulary: int,
    ) -> None:
        super().__init__()
        self.length, self.dropout = length, dropout
        self.embed = table(vocabulary, width)
        self.positions = table(max(POSITIONS, length), width)
        self.segments = table(2, width)
        self.norm = nn.LayerNorm(width, EPSILON)
        self.blocks = nn.ModuleList(
            TorchBlock(width, heads, norm_first=False, dropout=dropout, epsilon=EPSILON)
            for _ in range(layers)
        )
        self.pool, self.head = nn.Linear(width, width), nn.Linear(width, classes)
        of_segment = torch.arange(length, device="cpu") // (length // 2)
        self.register_buffer("of_segment", of_segment, persistent=False)

    def forward(self, tokens: Any) -> Any:
        values = self.embed(tokens) + self.positions.weight[: self.length]
        values = self._dropout(self.norm(values + self.segments(self.of_segment)))
        for block in self.blocks:
            values = block(values)
        return self.head(self._dropout(torch.tanh(self.pool(values[:, 0]))))

    def _dropout(self, values: Any) -> Any:
        return functional.dropout(values, self.dropout, self.training)
