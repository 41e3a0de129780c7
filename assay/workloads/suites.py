"""Suites: named sets of cases."""

from __future__ import annotations

from assay.core.errors import unknown_name_error
from assay.workloads.accuracy import TEN

SUITES = {
    # the nine of 2017, with their batch sizes
    "keras-benchmarks": (
        "mnist-mlp",
        "cifar10-cnn",
        "lstm",
        "gru",
        "resnet50",
        "resnet50:style=subclassed,batch_size=16",
        "resnet50:style=eager,batch_size=64",
        "vgg16:batch_size=8",
        "xception",
    ),
    "today": (
        "transformer-encoder",
        "transformer-decoder",
        "transformer-decoder:task=generate",
        "vit",
        "convnext",
        "unet",
        "dlrm",
    ),
    "accuracy": tuple(workload.name for workload in TEN),
}
EVALUATED = frozenset({"accuracy"})  # suites that are evaluated, not timed


def suite(name: str) -> tuple[str, ...]:
    if name not in SUITES:
        raise unknown_name_error("suite", name, SUITES)
    return SUITES[name]
