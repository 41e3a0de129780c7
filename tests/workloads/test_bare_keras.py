"""Keras models of a user's file: the batches they get, and what the runtimes make of them."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import assay
from assay.core import registry
from assay.core.case_text import parse_case
from assay.core.errors import UsageError
from assay.measure import plan
from tests.backends.opened import opened as in_a_worker

FILE = Path(__file__).parents[1] / "data" / "bare_keras.py"

pytestmark = pytest.mark.real("keras", "jax")


@contextmanager
def opened(name: str, options: str = ""):
    """A session of keras-jax in this process."""
    case = plan.resolve(parse_case(f"{FILE}:{name}@keras-jax{options}"))
    build = registry.workload(case.workload).kinds["keras"]
    with registry.backend(case.backend).open(lambda: build(**case.params), case) as session:
        yield session


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("Subclassed:batch_size=6", "6x5"),
        ("Several:batch_size=2", "2x4, 2x5"),
        ("Named:batch_size=2", "2x4x5, 2x4x5"),
    ],
)
def test_a_model_of_ones_own_trains(name, shape, keras):
    with opened(name) as session:
        before = session.outputs()
        session.step()
        session.wait()

        assert session.facts()["input_shape"] == shape
        assert np.isfinite(before).all() and not np.array_equal(before, session.outputs())


def test_a_subclassed_model_takes_its_example(keras):
    with opened("Subclassed", ":mode=infer") as session:
        assert session.items == 4
    with opened("Subclassed:batch_size=8", ":mode=infer") as session:
        assert np.allclose(session.outputs()[:4], session.outputs()[4:], atol=1e-6)


def test_a_subclassed_model_without_an_example_is_told_the_line_to_add(keras):
    with (
        pytest.raises(UsageError, match="was given without an example") as caught,
        opened("Without"),
    ):
        pass

    assert 'Without.example = numpy.zeros((32, 28, 28, 1), "float32")' in caught.value.hint


@pytest.mark.real("onnxruntime")
@pytest.mark.parametrize("name", ["Subclassed", "Named"])
def test_a_runtime_computes_what_keras_does(name, tmp_path):
    backends = ("keras-jax", "onnxruntime")
    found = {}
    for backend in backends:
        with in_a_worker(f"{FILE}:{name}@{backend}:mode=infer", tmp_path / backend) as case:
            found[backend] = case.outputs(), case.facts["weights_norm"]

    (wanted, weights), (outputs, same) = (found[backend] for backend in backends)
    assert np.abs(outputs - wanted).max() < 1e-5 * np.abs(wanted).max()
    assert same == pytest.approx(weights)


@pytest.mark.real("torch", "onnxruntime")
def test_an_engine_that_draws_other_weights_is_not_called_wrong(home):
    cases = [f"{FILE}:Several@{name}:mode=infer" for name in ("keras-torch", "onnxruntime")]
    results = list(assay.run(*cases, samples=2, budget=0.2, store=home))

    (said,) = [one for one in assay.fairness(results) if one.what in {"outputs", "weights"}]
    assert said.what == "weights" and not said.unfair
