"""What Keras makes of some items, beside the graph that is to do the same."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from assay.native.expected import Answers, items_for
from assay.native.graph import Graph


def answered(model: Any, graph: Graph) -> Answers:  # noqa: ANN401 (the keras.Model it is of)
    items = items_for(graph)
    structure = getattr(model, "_inputs_struct", None)  # a functional model's: a list or a dict
    given = items[0] if structure is None else keras.tree.pack_sequence_as(structure, list(items))
    # As one function, not layer by layer: a framework that compiles does so once.
    found = keras.tree.flatten(model.predict_on_batch(given))
    return Answers(judge="Keras", inputs=items, outputs=tuple(map(np.asarray, found)))
