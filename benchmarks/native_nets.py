"""Nets of keras.applications as workloads: weights drawn from a seed, the same on every engine.

`assay run benchmarks/native_nets.py:MobileNetV2@native`, and what `native.py` beside it measures.
"""

from __future__ import annotations

from typing import Any

import keras

from assay.workloads.models.keras.seeded import seeded_model


def MobileNetV2(size: int = 224, seed: int = 0) -> Any:
    return _net("MobileNetV2", size, seed)


def EfficientNetV2B0(size: int = 224, seed: int = 0) -> Any:
    return _net("EfficientNetV2B0", size, seed)


def DenseNet121(size: int = 224, seed: int = 0) -> Any:
    return _net("DenseNet121", size, seed)


def Xception(size: int = 299, seed: int = 0) -> Any:
    return _net("Xception", size, seed)


def ConvNeXtTiny(size: int = 224, seed: int = 0) -> Any:
    return _net("ConvNeXtTiny", size, seed)


def _net(name: str, size: int, seed: int) -> Any:
    make = getattr(keras.applications, name)
    return seeded_model(seed, make, weights=None, input_shape=(size, size, 3))
