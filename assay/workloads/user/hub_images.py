"""Image classifiers of torchvision and timm, with random weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.nn import functional

from assay.core.records import Value
from assay.core.sessions import Job


def job(model: Any, side: int, params: Mapping[str, Value]) -> Job:
    size, classes = int(params["batch_size"]), int(params["classes"])
    random = torch.Generator().manual_seed(int(params["seed"]))
    images = torch.rand(size, 3, side, side, generator=random) * 2 - 1
    return Job(
        model=model,
        loss=_loss,
        train_batch=(images, torch.randint(0, classes, (size,), generator=random)),
        items=size,
        as_given=True,
        facts={"assumed": "its weights are random"},
    )


def _loss(outputs: Any, labels: torch.Tensor) -> torch.Tensor:
    """Some return auxiliary outputs besides the logits in training."""
    logits = outputs if isinstance(outputs, torch.Tensor) else outputs[0]
    return functional.cross_entropy(logits, labels)
