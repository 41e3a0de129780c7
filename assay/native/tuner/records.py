"""Results of a tuning: choices of knobs, their speed and their accuracy loss."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.core.records import SCHEMA
from assay.native.graph import Array

Objective = Literal["time", "memory", "energy"]


class LossInterval(msgspec.Struct, frozen=True, kw_only=True):
    """Points of accuracy lost against the exact network, on the same images."""

    points: float
    low: float  # of the 95 % interval
    high: float
    pictures: int
    bound: float = math.nan  # upper bound of the loss on unseen images, at 95 %


class TunedPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A knob for each layer, and its measurements."""

    name: str  # of its configuration
    knobs: dict[str, int]  # by layer; layers without one are exact
    words: str = ""  # summary: number of layers by knob
    predicted: float  # points lost, on the images of the search
    measured: float | None = None  # points lost on the same images; None: not measured
    confirmed: LossInterval  # on images not used by the search
    test: LossInterval
    accuracy: float  # percent of the test images
    accuracy_low: float
    accuracy_high: float
    speedup: float  # over the exact network, measured alternately
    speedup_low: float
    speedup_high: float
    seconds: float  # of one item
    samples: tuple[float, ...] = ()  # of these seconds, a process each
    memory: int = 0  # bytes of weights
    energy: float | None = None  # joules of one item; None: not measured
    promised: bool = False  # the loss is within the allowed points


class LayerTrial(msgspec.Struct, frozen=True, kw_only=True):
    """Time of one item by knob for a layer, and the knobs tested for their loss."""

    layer: str
    seconds: dict[int, float]  # by knob; 11 is the exact one
    tried: tuple[int, ...] = ()


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """Points are ordered from the slowest and most exact."""

    model: str
    objective: Objective
    max_loss: float  # points
    seed: int
    batch: int
    points: tuple[TunedPoint, ...]
    chosen: str  # the best promised point
    pictures: dict[str, int]  # images by set
    seconds: float  # duration of the tuning
    stages: dict[str, float] = {}  # seconds by stage
    layers: tuple[LayerTrial, ...] = ()
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    run: str = ""
    schema: int = SCHEMA
    kind: Literal["tuning"] = "tuning"

    @property
    def best(self) -> TunedPoint:
        return next(point for point in self.points if point.name == self.chosen)


class LabelledImages(NamedTuple):
    inputs: Array  # float32; images are channels first
    labels: NDArray[np.int64]

    def subset(self, places: Any) -> LabelledImages:
        return LabelledImages(np.ascontiguousarray(self.inputs[places]), self.labels[places])


class TuneSplits(NamedTuple):
    """Disjoint sets of images."""

    calibration: Array
    choosing: LabelledImages
    confirming: LabelledImages
    test: LabelledImages

    @property
    def counts(self) -> dict[str, int]:
        sets = {
            name: len(getattr(self, name).labels) for name in ("choosing", "confirming", "test")
        }
        return {"calibration": len(self.calibration), **sets}
