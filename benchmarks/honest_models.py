"""Honest modules and callables of the kinds that users have, for `honest.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

from assay.core.sessions import Job

ROWS, WIDTH = 8, 32


class Strassen(nn.Module):  # type: ignore[misc]
    """A product by one level of Strassen: seven products of halves."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(256, 256))

    def forward(self, x: Any) -> Any:
        (a, b), (c, d) = (half.chunk(2, 1) for half in x.chunk(2))
        (e, f), (g, h) = (half.chunk(2, 1) for half in self.weight.chunk(2))
        p = [a @ (f - h), (a + b) @ h, (c + d) @ e, d @ (g - e), (a + d) @ (e + h)]
        p += [(b - d) @ (g + h), (a - c) @ (e + f)]
        top = torch.cat([p[4] + p[3] - p[1] + p[5], p[0] + p[1]], 1)
        return torch.cat([top, torch.cat([p[2] + p[3], p[0] + p[4] - p[2] - p[6]], 1)])


class Cache(nn.Module):  # type: ignore[misc]
    """Attends to the keys of earlier steps."""

    def __init__(self) -> None:
        super().__init__()
        self.key = nn.Linear(WIDTH, WIDTH)
        self.keys = torch.zeros(0, WIDTH)

    def forward(self, x: Any) -> Any:
        self.keys = torch.cat([self.keys, self.key(x).detach()])[-4 * ROWS :]
        return (self.key(x) @ self.keys.T).softmax(1) @ self.keys


class Noise(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        return self.layer(nn.functional.dropout(x, 0.5, training=True))


class Recurrent(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRU(WIDTH, WIDTH, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.cell(x[:, None])[0]


class Embedded(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(50, WIDTH), nn.Linear(WIDTH, 5)

    def forward(self, x: Any) -> Any:
        return self.head(self.table(x).mean(1))


class Classes(nn.Module):  # type: ignore[misc]
    """Returns class numbers beside scores."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, 50)

    def forward(self, x: Any) -> Any:
        scores = self.layer(x)
        return {"scores": scores, "classes": scores.argmax(1)}


def modules(mode: str) -> Iterator[tuple[str, Callable[[], Job]]]:
    vector, image = torch.rand(ROWS, WIDTH), torch.rand(2, 3, 16, 16)
    linear = partial(nn.Linear, WIDTH, WIDTH)
    makers: dict[str, tuple[Callable[[], nn.Module], Any]] = {
        "linear": (linear, vector),
        "one-row": (linear, vector[:1]),
        "deep": (lambda: nn.Sequential(*[linear() for _ in range(8)]), vector),
        "relu": (lambda: nn.Sequential(linear(), nn.ReLU(inplace=True), linear()), vector),
        "norm": (lambda: nn.Sequential(nn.LayerNorm(WIDTH), linear()), vector),
        "norm-one-row": (lambda: nn.Sequential(nn.LayerNorm(WIDTH), linear()), vector[:1]),
        "batch-norm": (lambda: nn.Sequential(nn.BatchNorm1d(WIDTH), linear()), vector),
        "softmax": (lambda: nn.Sequential(linear(), nn.Softmax(1)), vector),
        "dropout": (lambda: nn.Sequential(nn.Dropout(0.5), linear()), vector),
        "convolution": (lambda: nn.Conv2d(3, 8, 3), image),
        "pool": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1)), image),
        "transposed": (lambda: nn.ConvTranspose2d(3, 4, 2), image),
        "depthwise": (lambda: nn.Conv2d(3, 6, 7, groups=3), image),
        "encoder": (lambda: nn.TransformerEncoderLayer(WIDTH, 2, 64), vector[:, None]),
        "recurrent": (Recurrent, vector),
        "tokens": (Embedded, torch.randint(0, 50, (ROWS, 6))),
        "strassen": (Strassen, torch.rand(256, 256)),
        "noise": (Noise, vector),
        "cache": (Cache, vector),
        "classes": (Classes, vector),
    }
    for name, (make, example) in makers.items():
        yield name, partial(_job, make, example)


def _job(make: Callable[[], nn.Module], example: Any) -> Job:
    torch.manual_seed(0)
    return Job(
        model=make(), loss="mean", train_batch=(example, ()), items=len(example), as_given=True
    )


def callables() -> Iterator[tuple[str, Callable[[], Any]]]:
    left = np.random.default_rng(0).random((50, 50))
    buffer, tensor = np.empty_like(left), torch.rand(50, 50)
    yield "numpy", lambda: left @ left
    yield "in place", lambda: np.matmul(left, left, out=buffer)
    yield "nothing returned", lambda: (left @ left, None)[1]
    yield "torch", lambda: tensor @ tensor
    yield "sum", lambda: sum(range(1000))
    yield "sorted", lambda: sorted(range(500, 0, -1))
    yield "text", lambda: " ".join(map(str, range(200)))
    yield "number", lambda: len({n % 300 for n in range(2000)})
