"""The recommendation model in PyTorch."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from assay.workloads.dlrm import NUMBERS, TABLES, pair_indices
from assay.workloads.models.torch.load import load_weights, table


def model(
    arrays: Mapping[str, Any], rows: int, depth: int, bottom: Sequence[int], top: Sequence[int]
) -> nn.Module:
    return load_weights(lambda: Recommender(rows, depth, bottom, top), arrays)


class Recommender(nn.Module):  # type: ignore[misc]
    def __init__(self, rows: int, depth: int, bottom: Sequence[int], top: Sequence[int]) -> None:
        super().__init__()
        self.bottom = _chain(NUMBERS, (*bottom, depth))
        self.embed = table(TABLES * rows, depth)
        self.top = _chain(depth + TABLES * (TABLES + 1) // 2, (*top, 1))
        starts, pairs = (
            torch.arange(TABLES, device="cpu") * rows,
            torch.tensor(pair_indices(), device="cpu"),
        )
        self.register_buffer("starts", starts, persistent=False)
        self.register_buffer("pairs", pairs, persistent=False)

    def forward(self, numbers: Any, places: Any) -> Any:
        for layer in self.bottom:
            numbers = functional.relu(layer(numbers))
        looked_up = self.embed(places + self.starts)
        vectors = torch.cat([numbers[:, None], looked_up], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1)
        values = torch.cat([numbers, products[:, self.pairs]], 1)
        for layer in self.top[:-1]:
            values = functional.relu(layer(values))
        return self.top[-1](values)


def _chain(before: int, widths: Sequence[int]) -> nn.ModuleList:
    sizes = [before, *widths]
    return nn.ModuleList(nn.Linear(*pair) for pair in itertools.pairwise(sizes))
