"""Models drawn at random compute what they do in Keras, captured and built, or are refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.engine.agreement import ALLOWED, distance
from assay.native import reference
from assay.native.build import _runtime
from assay.native.capture import answers, capture
from assay.native.passes.pipeline import optimized
from assay.native.trial import program_outputs
from tests.native.built import compiled
from tests.native.keras_models import draw
from tests.native.test_onnx import by_onnxruntime

pytestmark = pytest.mark.real("compiler", "keras", "jax", "onnxruntime")

BLOCK = 25  # nets of one test among the thousand


def wrong(keras, seeds, tools, cache):
    """What is wrong with the nets of these seeds, in words."""
    _runtime(tools, cache)  # once, before two threads would both compile it
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(judged, *case, tools, cache) for case in cases(keras, seeds)]
    return [text for each in asked if (text := each.result())]


def cases(keras, seeds):
    """Seed, graph and Keras' answers; a refusal that is none, or is lacking, is told instead."""
    for seed in seeds:
        model, unfit = draw(keras, seed)
        try:
            graph = capture(model)
        except UsageError as error:
            named = unfit and f"The layer '{unfit}' " in str(error)
            yield seed, "" if named else f"refused ({error})", None
            continue
        yield (seed, "not refused", None) if unfit else (seed, graph, answers(model, graph))


def judged(seed, graph, told, tools, cache):
    if told is None:
        return f"{seed}: {graph}" if graph else ""
    found = {
        "reference": reference.outputs(optimized(graph), *told.inputs, dtype=np.float64),
        "onnx": by_onnxruntime(graph, told.inputs),
    }
    if len(graph.inputs) == len(graph.outputs) == 1:  # as many as a program has
        emitted, built = compiled(graph, tools, cache)
        found["program"] = [program_outputs(built, emitted, told.inputs[0], "auto")]
    apart = {
        who: max(distance(here, there) for here, there in zip(outputs, told.outputs, strict=True))
        for who, outputs in found.items()
    }
    return ", ".join(f"{seed}: {who} {far:.2g}" for who, far in apart.items() if far > ALLOWED)


def test_thirty_models_compute_what_keras_computes(keras, plain_tools, native_cache):
    assert wrong(keras, range(30), plain_tools, native_cache) == []


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 1000, BLOCK))
def test_a_thousand_models_compute_what_keras_computes(first, keras, plain_tools, native_cache):
    seeds = range(first, first + BLOCK)

    assert wrong(keras, seeds, plain_tools, native_cache) == []
