"""Models drawn at random compute what they do in Keras, captured and built, or are refused."""

from __future__ import annotations

import pytest

from assay.native.agreement import ALLOWED, distance
from assay.native.capture import capture, reference_outputs
from tests.native.fuzzing import wrong
from tests.native.keras_models import draw
from tests.native.many import build_many, by_program

pytestmark = pytest.mark.real("compiler", "keras", "jax", "onnxruntime")

BLOCK = 50  # nets of one test among the thousand


def test_sixty_models_compute_what_keras_computes(keras, native_cache, tmp_path):
    assert wrong(keras, range(60), native_cache, tmp_path) == []


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 1000, BLOCK))
def test_a_thousand_models_compute_what_keras_computes(first, keras, native_cache, tmp_path):
    assert wrong(keras, range(first, first + BLOCK), native_cache, tmp_path) == []


@pytest.mark.long
@pytest.mark.real("clang")
def test_fifty_models_compute_the_same_by_another_compiler(
    keras, native_cache, tmp_path, monkeypatch
):
    monkeypatch.setenv("CXX", "clang++")

    assert wrong(keras, range(50), native_cache, tmp_path) == []


def programs_outputs(keras, tools, cache, folder, *words):
    """Of the first fifty: how far each is from Keras. What a sanitizer sees ends a program with a
    status that is not 0, which is an error here."""
    models = [model for model, unfit in (draw(keras, seed) for seed in range(50)) if not unfit]
    graphs = [capture(model) for model in models]
    built = build_many(graphs, tools, cache, folder)
    for model, graph, made in zip(models, graphs, built, strict=True):
        told = reference_outputs(model, graph)
        found = by_program(*made, told.inputs, *words)
        yield max(distance(here, there) for here, there in zip(found, told.outputs, strict=True))


@pytest.mark.long
def test_fifty_models_touch_only_their_own_memory(keras, checked_tools, native_cache, tmp_path):
    found = list(programs_outputs(keras, checked_tools, native_cache, tmp_path))

    assert len(found) > 30 and max(found) <= ALLOWED


@pytest.mark.long
@pytest.mark.parametrize("batch", ["1", "4"], ids=["a layer shared", "images shared"])
def test_no_two_threads_of_fifty_models_touch_the_same_memory(
    batch, keras, raced_tools, native_cache, tmp_path
):
    words = ("--threads", "3", "--batch", batch)
    found = list(programs_outputs(keras, raced_tools, native_cache, tmp_path, *words))

    assert len(found) > 30 and max(found) <= ALLOWED
