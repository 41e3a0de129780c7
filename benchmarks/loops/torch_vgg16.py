"""VGG16 in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from loops import PLAN


def make(wish: dict[str, Any], batch: int, image: int, **_: int) -> Any:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = bool(wish.get("tf32"))
    model = _vgg16(image).to(device)
    inputs = torch.rand(batch, 3, image, image, device=device) * 2 - 1
    labels = torch.randint(0, 1000, (batch,), device=device)
    if wish.get("pure"):
        model, inputs = model.bfloat16(), inputs.bfloat16()
    if wish.get("last"):
        model = model.to(memory_format=torch.channels_last)
        inputs = inputs.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=device == "cuda")
    loss_of = nn.CrossEntropyLoss()

    def forward() -> Any:
        with torch.autocast(device, torch.bfloat16, enabled=bool(wish.get("autocast"))):
            return loss_of(model(inputs), labels)

    if wish.get("compile"):
        forward = torch.compile(forward)

    def step() -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = forward()
        loss.backward()
        optimizer.step()
        return loss

    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    if wish.get("graph"):
        step = _captured(step)
    return step, lambda last: wait()


def _captured(step: Callable[[], Any]) -> Callable[[], Any]:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    replay: Callable[[], Any] = graph.replay
    return replay


def _vgg16(image: int) -> nn.Module:
    layers: list[nn.Module] = []
    channels = 3
    for width in PLAN:
        if width:
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
            channels = width
        else:
            layers.append(nn.MaxPool2d(2))
    flat = 512 * (image // 32) ** 2
    layers += [nn.Flatten(), nn.Linear(flat, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(4096, 1000))
    for (
        weight
    ) in model.parameters():  # lively values draw the power, and so the clocks, of real ones
        if weight.ndim > 1:
            nn.init.xavier_uniform_(weight)
        else:
            nn.init.uniform_(weight, -0.05, 0.05)
    return model
