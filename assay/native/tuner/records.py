"""What a tuning found: choices of knobs, how fast each is and what it costs."""

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
    """Points of accuracy lost against the exact network, on the same pictures."""

    points: float
    low: float  # of the 95 % interval
    high: float
    pictures: int
    bound: float = math.nan  # lost at most, on pictures nobody has seen, at 95 %


class TunedPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A knob for each layer, and what was measured of it."""

    name: str  # of its configuration
    knobs: dict[str, int]  # by layer; those that are not here are exact
    words: str = ""  # the same in words: how many layers have which
    predicted: float  # points lost, on the pictures that knobs were chosen by
    measured: float | None = None  # points lost on the same pictures; None: nobody looked
    confirmed: LossInterval  # on pictures that no knob was chosen by
    test: LossInterval
    accuracy: float  # percent of the test pictures
    accuracy_low: float
    accuracy_high: float
    speedup: float  # over the exact network, measured in turns with it
    speedup_low: float
    speedup_high: float
    seconds: float  # of one item
    samples: tuple[float, ...] = ()  # of these seconds, a process each
    memory: int = 0  # bytes of weights
    energy: float | None = None  # joules of one item; None: not measured
    promised: bool = False  # at most as many points are lost as were allowed


class LayerTrial(msgspec.Struct, frozen=True, kw_only=True):
    """What each knob gains in a layer: its time of one item, and those tried for their loss."""

    layer: str
    seconds: dict[int, float]  # by knob; 11 is the exact one
    tried: tuple[int, ...] = ()


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """The slowest and most exact point first."""

    model: str
    objective: Objective
    max_loss: float  # points
    seed: int
    batch: int
    points: tuple[TunedPoint, ...]
    chosen: str  # the fastest that keeps the promise
    pictures: dict[str, int]  # of each set
    seconds: float  # that the tuning took
    stages: dict[str, float] = {}  # where they went
    layers: tuple[LayerTrial, ...] = ()
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    run: str = ""
    schema: int = SCHEMA
    kind: Literal["tuning"] = "tuning"

    @property
    def best(self) -> TunedPoint:
        return next(point for point in self.points if point.name == self.chosen)


class Labelled(NamedTuple):
    inputs: Array  # float32; pictures have their channels first
    labels: NDArray[np.int64]

    def some(self, places: Any) -> Labelled:
        return Labelled(np.ascontiguousarray(self.inputs[places]), self.labels[places])


class TunePictures(NamedTuple):
    """No picture is in two of these."""

    calibration: Array
    choosing: Labelled
    confirming: Labelled
    test: Labelled

    @property
    def counts(self) -> dict[str, int]:
        sets = {
            name: len(getattr(self, name).labels) for name in ("choosing", "confirming", "test")
        }
        return {"calibration": len(self.calibration), **sets}
