"""A Keras model → Graph. What the graph has no operation for is refused by name, never skipped."""

from __future__ import annotations

from typing import Any

from assay.core.errors import UsageError
from assay.native.expected import Answers
from assay.native.graph import Graph


def capture(model: Any, name: str = "") -> Graph:  # noqa: ANN401 (a keras.Model)
    """The inference of a built model, sequential or functional, in either data format.

    Inputs and outputs keep the model's own axis order; layers that only train are left out.
    """
    from assay.native.capture._walk import captured

    return captured(model, name)


def answers(model: Any, graph: Graph) -> Answers:  # noqa: ANN401
    """What Keras makes of some items, for the graph captured from the model to be judged by."""
    from assay.native.capture.fold_native_capture_answers import answered

    return answered(model, graph)


def supported() -> tuple[str, ...]:
    """Names of the Keras layers that can be captured. Imports Keras."""
    from assay.native.capture._walk import names

    return names()


def unsupported(what: str, layer: str, known: tuple[str, ...]) -> UsageError:
    return UsageError(
        f"The layer '{layer}' is {what}, which cannot be captured.",
        hint=f"Supported: {', '.join(known)}.",
    )
