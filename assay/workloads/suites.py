"""Suites: cases that are run together, by name."""

from __future__ import annotations

from assay.core.errors import unknown
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
    "accuracy": tuple(one.name for one in TEN),
}
EVALUATED = frozenset({"accuracy"})  # suites of which not the speed is asked


def suite(name: str) -> tuple[str, ...]:
    if name not in SUITES:
        raise unknown("suite", name, SUITES)
    return SUITES[name]
