"""A case opened in a real worker, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.core import messages
from assay.core.case_text import parse_case
from assay.core.records import Case
from assay.measure import plan
from assay.measure.process import WorkerProcess

SIX = ("keras-jax", "keras-tensorflow", "keras-torch", "jax", "tensorflow", "torch")
SMALL = {
    "mnist-mlp": "mnist-mlp:batch_size=4,units=16,hidden=2",
    "cifar10-cnn": "cifar10-cnn:batch_size=2,filters=4,units=8",
    "vgg16": "vgg16:batch_size=2,image_size=32,narrower=32,classes=10",
}


def frameworks(backend: str) -> tuple[str, ...]:
    """What a backend's tests need installed."""
    return tuple(backend.split("-"))


def case(text: str) -> Case:
    return plan.resolve(parse_case(text))


@dataclass
class Opened:
    child: WorkerProcess
    facts: dict[str, Any]

    def outputs(self) -> Any:
        (given,) = self.child.ask(messages.GetOutputs())
        assert isinstance(given, messages.OutputValues)
        return np.array(given.values).reshape(given.shape)

    def step(self, count: int = 1) -> tuple[float, ...]:
        (taken,) = self.child.ask(messages.TakeSamples(steps=1, count=count, seconds=1e6))
        assert isinstance(taken, messages.TimedSteps)
        return taken.seconds


@contextmanager
def opened(text: str, folder: Path) -> Iterator[Opened]:
    """The worker of a case that backends do not refuse, ready for orders."""
    folder.mkdir(parents=True, exist_ok=True)
    with WorkerProcess(case(text), folder, timeout=250) as child:
        (answer,) = child.ask(messages.Open(case=case(text)))
        assert isinstance(answer, messages.Opened)
        yield Opened(child, answer.facts)
