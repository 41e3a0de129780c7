"""A Keras model → Graph. What the graph has no operation for is refused by name, never skipped."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.core.errors import UsageError
from assay.native.expected import Answers, items_for
from assay.native.graph import Graph


def capture(model: Any, name: str = "") -> Graph:
    """The inference of a built model, sequential or functional, in either data format.

    Inputs and outputs keep the model's own axis order; layers that only train are left out.
    """
    from assay.native.capture._walk import captured

    return captured(model, name)


def answers(model: Any, graph: Graph) -> Answers:
    """What Keras makes of some items, for the graph captured from the model to be judged by."""
    import keras

    items = items_for(graph)
    structure = getattr(model, "_inputs_struct", None)  # a functional model's: a list or a dict
    given = items[0] if structure is None else keras.tree.pack_sequence_as(structure, list(items))
    # As one function, not layer by layer: a framework that compiles does so once.
    found = keras.tree.flatten(model.predict_on_batch(given))
    return Answers(judge="Keras", inputs=items, outputs=tuple(map(np.asarray, found)))


def supported() -> tuple[str, ...]:
    """Names of the Keras layers that can be captured. Imports Keras."""
    from assay.native.capture._walk import names

    return names()


def unsupported(what: str, layer: str, known: tuple[str, ...]) -> UsageError:
    return UsageError(
        f"The layer '{layer}' is {what}, which cannot be captured.",
        hint=f"Supported: {', '.join(known)}.",
    )
