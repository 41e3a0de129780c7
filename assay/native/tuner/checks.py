"""Whether a network can be tuned at all, and what has to be said of what was found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import UsageError
from assay.native.graph import Array, Graph
from assay.native.knobs.table import BASELINE, KNOBS
from assay.native.passes.pipeline import optimized
from assay.native.tuner.accuracy_loss import pictures_needed
from assay.native.tuner.layer_times import HALF, Times, tuned_layers
from assay.native.tuner.records import TunedPoint
from assay.stats.accuracy import wilson


def check_classifies(model: Graph) -> None:
    """One input, a number for each class, and a layer that has knobs."""
    hint = "Tune a network that classifies."
    if len(model.inputs) != 1 or len(model.outputs) != 1:
        raise UsageError(
            f"{model.name} has {len(model.inputs)} inputs and {len(model.outputs)} outputs, but a "
            "network that classifies has one of each.",
            hint=hint,
        )
    shape = model.shapes()[model.outputs[0]]
    if len(shape) != 1 or shape[0] < 2:
        raise UsageError(
            f"{model.name} gives {shape} for an item, but a number for each class is expected.",
            hint=hint,
        )
    if not tuned_layers(optimized(model)):
        raise UsageError(
            f"{model.name} has no convolution or dense layer, so there is no knob for it.",
            hint="Tune a network that has one.",
        )


def check_trained(model: str, outputs: Array, labels: NDArray[np.int64]) -> None:
    """One that guesses loses nothing, whatever is done to it."""
    right, classes = int(np.sum(outputs.argmax(1) == labels)), outputs.shape[1]
    if wilson(right, len(labels))[0] <= 1 / classes:
        raise UsageError(
            f"{model} is right about {100 * right / len(labels):.1f} % of its pictures, as one "
            f"that guesses among {classes} classes would be: it has no trained weights, or the "
            "pictures are not prepared as it expects.",
            hint="Give --weights FILE, or data prepared as in its training.",
        )


def emulated_note(times: Times) -> str:
    """Of the knob that is only emulated: it was measured, and is not offered."""
    both = [(took[BASELINE], took[HALF]) for took in times.values() if HALF in took]
    exact, half = (sum(each) for each in zip(*both, strict=True))
    return (
        f"fp16 was left out: {KNOBS[HALF].summary}; it is {exact / half:.2f} times as fast as fp32"
    )


def prediction_note(points: Sequence[TunedPoint]) -> str:
    """How far predictions were off, on the pictures they were made for."""
    off = [abs(each.predicted - each.measured) for each in points[1:] if each.measured is not None]
    if not off:
        return ""
    return f"predicted losses were within {max(off):.2f} points of those measured on these pictures"


def promise_note(points: Sequence[TunedPoint], best: TunedPoint, max_loss: float) -> str:
    """Why nothing faster was promised, and what would help; "" where something was."""
    if best.knobs:
        return ""
    if len(points) < 2:
        return "no knob makes this network faster here and is predicted to lose little enough"
    safest = points[1].confirmed
    note = (
        f"no faster point is sure to lose at most {max_loss:g} points: the safest may lose "
        f"{safest.bound:.2f}"
    )
    if safest.points >= max_loss:
        return note
    room, reach = max_loss - safest.points, safest.bound - safest.points
    needed = max(pictures_needed(max_loss), round(safest.pictures * (reach / room) ** 2))
    return f"{note}; with {needed} pictures to confirm by, in place of {safest.pictures}, it could"
