"""ResNet50 in PyTorch, trained with RMSprop."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from loops import STAGES
from loops.torch_step import DEVICE, prepare, stepped


def make(wish: dict[str, Any], batch: int, image: int, narrower: int, **_: int) -> Any:
    prepare(wish)
    layout = torch.channels_last
    model = ResNet50(narrower).to(DEVICE, memory_format=layout)
    inputs = (torch.rand(batch, 3, image, image, device=DEVICE) * 2 - 1).to(memory_format=layout)
    labels = torch.randint(0, 1000, (batch,), device=DEVICE)
    if wish.get("pure"):
        model, inputs = model.bfloat16(), inputs.bfloat16()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.001, alpha=0.9, eps=1e-7)
    return stepped(wish, model, lambda: functional.cross_entropy(model(inputs), labels), optimizer)


class ResNet50(nn.Module):
    def __init__(self, narrower: int) -> None:
        super().__init__()
        width = 64 // narrower
        self.stem, self.norm = nn.Conv2d(3, width, 7, 2, 3), nn.BatchNorm2d(width, 1.001e-5)
        blocks, before = [], width
        for filters, count, stride in STAGES:
            for index in range(count):
                blocks.append(Block(before, filters // narrower, stride if index == 0 else 1))
                before = 4 * filters // narrower
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(before, 1000)

    def forward(self, x: Any) -> Any:
        x = functional.max_pool2d(functional.relu(self.norm(self.stem(x))), 3, 2, 1)
        return self.head(self.blocks(x).mean((2, 3)))


class Block(nn.Module):
    def __init__(self, before: int, filters: int, stride: int) -> None:
        super().__init__()
        sizes = (
            (before, filters, 1, stride),
            (filters, filters, 3, 1),
            (filters, 4 * filters, 1, 1),
        )
        self.convs = nn.ModuleList(nn.Conv2d(a, b, k, s, k // 2) for a, b, k, s in sizes)
        self.norms = nn.ModuleList(nn.BatchNorm2d(b, 1.001e-5) for _, b, _, _ in sizes)
        self.around = nn.Identity()
        if before != 4 * filters or stride > 1:
            conv = nn.Conv2d(before, 4 * filters, 1, stride)
            self.around = nn.Sequential(conv, nn.BatchNorm2d(4 * filters, 1.001e-5))

    def forward(self, x: Any) -> Any:
        y = x
        for number, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            y = norm(conv(y))
            y = functional.relu(y) if number < 2 else y
        return functional.relu(y + self.around(x))
