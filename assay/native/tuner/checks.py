"""Checks that a network can be tuned, and notes on the result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import UsageError
from assay.core.units import plural
from assay.native.graph import Array, Graph
from assay.native.knobs.table import BASELINE, KNOBS
from assay.native.passes.pipeline import optimize
from assay.native.tuner.accuracy_loss import required_images
from assay.native.tuner.layer_times import HALF, Times, tuned_layers
from assay.native.tuner.records import TunedPoint
from assay.stats.accuracy import wilson


def check_classifies(model: Graph) -> None:
    """Raise unless it has one input, one output per class, and a layer with knobs."""
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
    if not tuned_layers(optimize(model)):
        raise UsageError(
            f"{model.name} has no convolution or dense layer, so there is no knob for it.",
            hint="Tune a network that has one.",
        )


def check_trained(model: str, outputs: Array, labels: NDArray[np.int64]) -> None:
    """Raise if the model only guesses: its accuracy could not get worse."""
    right, classes = int(np.sum(outputs.argmax(1) == labels)), outputs.shape[1]
    if wilson(right, len(labels))[0] <= 1 / classes:
        raise UsageError(
            f"{model} is right about {100 * right / len(labels):.1f} % of its images, no better "
            f"than a guess among {classes} classes: it has no trained weights, or the images are "
            "not prepared as it expects.",
            hint="Give --weights FILE, or data prepared as in its training.",
        )


def emulated_note(times: Times) -> str:
    """Note on the emulated knob, which is measured but not offered."""
    both = [(seconds[BASELINE], seconds[HALF]) for seconds in times.values() if HALF in seconds]
    exact, half = (sum(column) for column in zip(*both, strict=True))
    return (
        f"fp16 was left out: {KNOBS[HALF].summary}; it is {exact / half:.2f} times as fast as fp32"
    )


def prediction_note(points: Sequence[TunedPoint]) -> str:
    """Note on the largest error of predictions, on the same images."""
    errors = [
        abs(point.predicted - point.measured) for point in points[1:] if point.measured is not None
    ]
    if not errors:
        return ""
    return (
        f"predicted losses were within {max(errors):.2f} points of those measured on these images"
    )


def promise_note(points: Sequence[TunedPoint], best: TunedPoint, max_loss: float) -> str:
    """Why no faster point was promised, and what would help; "" if one was."""
    if best.knobs:
        return ""
    if len(points) < 2:
        return "no knob makes this network faster here and is predicted to lose little enough"
    safest = points[1].confirmed
    note = (
        f"no faster point is sure to lose at most {plural(float(max_loss), 'point')}: "
        f"the safest may lose {safest.bound:.2f}"
    )
    if safest.points >= max_loss:
        return note
    margin, half_width = max_loss - safest.points, safest.bound - safest.points
    needed = max(required_images(max_loss), round(safest.pictures * (half_width / margin) ** 2))
    return f"{note}; {needed} images to confirm it, instead of {safest.pictures}, would suffice"
