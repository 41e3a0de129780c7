"""Capture a Keras model as a Graph. Anything unsupported is an error that names it."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.core.errors import UsageError
from assay.native.expected import ReferenceOutputs, sample_items
from assay.native.graph import Graph


def capture(model: Any, name: str = "") -> Graph:
    """Capture the inference of a built sequential or functional model, in either data format.

    Inputs and outputs keep the model's axis order; layers used only in training are left out.
    """
    from assay.native.capture._walk import capture_graph

    return capture_graph(model, name)


def reference_outputs(model: Any, graph: Graph) -> ReferenceOutputs:
    """Reference outputs by Keras for sample inputs of the captured graph."""
    import keras

    items = sample_items(graph)
    structure = getattr(model, "_inputs_struct", None)  # a functional model's: a list or a dict
    inputs = items[0] if structure is None else keras.tree.pack_sequence_as(structure, list(items))
    # As one function, not layer by layer: a framework that compiles does so once.
    outputs = keras.tree.flatten(model.predict_on_batch(inputs))
    return ReferenceOutputs(judge="Keras", inputs=items, outputs=tuple(map(np.asarray, outputs)))


def supported_layers() -> tuple[str, ...]:
    """Names of the Keras layers that can be captured. Imports Keras."""
    from assay.native.capture._walk import names

    return names()


def unsupported(what: str, layer: str, known: tuple[str, ...]) -> UsageError:
    return UsageError(
        f"The layer '{layer}' is {what}, which cannot be captured.",
        hint=f"Supported: {', '.join(known)}.",
    )
