"""A training step in PyTorch, whatever the network: what every loop of it shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def prepare(wish: dict[str, Any]) -> None:
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = bool(wish.get("tf32"))


def stepped(
    wish: dict[str, Any], model: nn.Module, loss_of: Callable[[], Any], optimizer: Any
) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """`loss_of` computes the loss of the batch by the model."""

    def forward() -> Any:
        with torch.autocast(DEVICE, torch.bfloat16, enabled=bool(wish.get("autocast"))):
            return loss_of()

    if wish.get("compile"):
        forward = torch.compile(forward)

    def step() -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = forward()
        loss.backward()
        optimizer.step()
        return loss

    return step, wait


def wait(_: Any) -> None:
    if DEVICE == "cuda":
        torch.cuda.synchronize()
