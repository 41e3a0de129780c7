"""Bare models of a user's file: what they take, what they lack, and that they run."""

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

DATA = Path(__file__).parents[1] / "data"
TORCH, JAX, TENSORFLOW = (DATA / f"bare_{name}.py" for name in ("torch", "jax", "tensorflow"))


def resolved(text: str) -> assay.Case:
    return plan.resolve(parse_case(text))


@contextmanager
def opened(text: str):
    """A session in this process."""
    case = resolved(text)
    backend, workload = registry.backend(case.backend), registry.workload(case.workload)
    jobs = []

    def build():
        jobs.append(workload.kinds[case.backend](**case.params))
        return jobs[0]

    with backend.open(build, case) as session:
        yield session, jobs[0]


@pytest.mark.real("torch")
@pytest.mark.parametrize(
    ("name", "shape", "items", "assumed"),
    [
        ("Pictures", "2x3x8x8", 2, "its loss is the mean of the outputs"),
        ("Pictures:batch_size=5", "5x3x8x8", 5, "its loss is the mean of the outputs"),
        ("Tokens:batch_size=3", "3x7, 3x1", 3, ""),
        ("Labelled", "2x3x8x8", 2, ""),
        ("MLP:batch_size=4", "4x12", 4, "its inputs are vectors as its first layer takes them"),
    ],
)
def test_a_torch_module_trains_on_its_example(name, shape, items, assumed):
    with opened(f"{TORCH}:{name}@torch") as (session, job):
        before = session.outputs()
        session.step()

        assert session.items == items
        assert session.facts()["input_shape"] == shape
        assert session.facts()["mode"] == "train"
        assert np.isfinite(before).all() and not np.array_equal(before, session.outputs())
        assert assumed in job.facts["assumed"] and bool(assumed) == bool(job.facts["assumed"])


@pytest.mark.real("torch")
def test_a_loss_of_ones_own_is_what_is_minimized():
    with opened(f"{TORCH}:Tokens:batch_size=3@torch:optimizer=sgd") as (session, job):
        losses = []
        for _ in range(3):
            outputs = session._infer_outputs()
            losses.append(float(job.loss(outputs, session._targets)))
            session.step()

    assert losses == sorted(losses, reverse=True)


@pytest.mark.real("torch")
def test_a_pure_function_infers_without_being_told():
    case = resolved(f"{TORCH}:softmax@torch")

    assert case.options["mode"] == "infer"
    with opened(case.key) as (session, _):
        session.step()
        assert session.outputs().sum() == pytest.approx(4, abs=1e-5)
        assert session.facts()["parameters"] == 0


@pytest.mark.real("torch")
@pytest.mark.parametrize(
    ("name", "sentence", "hint"),
    [
        ("Without", "was given without an example", "Without.example = torch.rand(2, 3, 32, 32)"),
        ("Worded", "holds a str", "Worded.example = "),
    ],
)
def test_an_example_that_lacks_or_is_none_is_asked_for(name, sentence, hint):
    with pytest.raises(UsageError, match=sentence) as caught, opened(f"{TORCH}:{name}@torch"):
        pass

    assert hint in caught.value.hint


@pytest.mark.real("torch")
def test_an_example_that_does_not_fit_ends_the_case_in_a_sentence():
    (result,) = assay.run(f"{TORCH}:Unfit@torch", samples=1)

    assert result.status == "failed"
    assert "Unfit does not run on its example: RuntimeError" in result.reason


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"{TORCH}:Needy@torch", "units has no default"),
        (f"{TORCH}:softmax@torch:mode=train", "without parameters to train"),
        (f"{TORCH}:MLP@jax", "jax cannot open"),
    ],
)
def test_what_the_file_already_tells_is_refused_before_a_process_starts(text, sentence):
    with pytest.raises(UsageError, match=sentence):
        resolved(text)


@pytest.mark.real("jax")
@pytest.mark.parametrize(
    "name",
    [
        "pair",
        pytest.param("linen", marks=pytest.mark.real("flax")),
        pytest.param("nnx", marks=pytest.mark.real("flax")),
        pytest.param("equinox", marks=pytest.mark.real("equinox")),
    ],
)
def test_a_jax_model_trains_on_its_example(name):
    with opened(f"{JAX}:{name}:batch_size=3@jax") as (session, _):
        before = session.outputs()
        session.step()
        session.wait()

        assert session.items == len(before) == 3
        assert np.isfinite(before).all() and not np.array_equal(before, session.outputs())


@pytest.mark.real("jax")
def test_a_pure_jax_function_is_measured_as_it_is():
    with opened(f"{JAX}:pure:batch_size=3@jax") as (session, _):
        session.step()

        assert session.outputs() == pytest.approx(np.full((3, 4), 2 * np.tanh(1.0)))


@pytest.mark.real("jax")
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("neither@jax", "gave a int, which jax cannot open"),
        ("pair@jax:data_format=channels_first", "takes its inputs as they are"),
    ],
)
def test_what_jax_cannot_open_is_said(text, sentence):
    with pytest.raises(UsageError, match=sentence), opened(f"{JAX}:{text}"):
        pass


@pytest.mark.real("tensorflow")
def test_a_tensorflow_module_trains_on_its_example():
    (result,) = assay.run(f"{TENSORFLOW}:Linear@tensorflow", samples=1, budget=0.2)

    assert (result.status, result.reason, result.items) == ("ok", "", 2)
    assert result.facts["outputs"].startswith("8 8 8")
    notes = [doubt.text for doubt in assay.summarize(result).doubts]
    assert "its loss is the mean of the outputs, as it names none" in notes


def test_a_plain_function_is_called_with_its_example(tmp_path):
    file = tmp_path / "add.py"
    file.write_text("def add(a, b):\n    return a + b\nadd.example = (1, 2)\n")

    (result,) = assay.run(f"{file}:add", samples=2, budget=0.1)

    assert (result.status, result.reason) == ("ok", "")
