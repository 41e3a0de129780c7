"""Profiles of small models on the six backends: a trace that opens, and true operations."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from assay.commands import profile
from assay.core.errors import NotPossibleError, UsageError

SMALL = "mnist-mlp:batch_size=16,units=32,hidden=2"


def backend(name, *operations):
    """A backend, with words of which one names its products of matrices."""
    return pytest.param(name, operations, marks=pytest.mark.real(*name.split("-")), id=name)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        backend("torch", "aten::mm", "aten::addmm"),
        backend("jax", "dot"),
        backend("tensorflow", "MatMul"),
        backend("keras-torch", "aten::mm", "aten::addmm"),
        backend("keras-jax", "dot"),
        backend("keras-tensorflow", "MatMul"),
    ],
)
def test_a_profile_has_a_trace_that_opens_and_the_products_among_its_top_operations(name, words):
    found = profile.profile(f"{SMALL}@{name}", steps=2)

    top = [f"{one.name} {one.source}" for one in found.operations[:15]]
    written = json.loads(gzip.decompress(Path(found.trace).read_bytes()))["traceEvents"]
    names = {event.get("name") for event in written if event.get("ph") == "X"}
    assert (found.result.status, found.result.reason) == ("ok", "")
    assert any(word in one for one in top for word in words), top
    assert found.operations[0].name in names
    assert sum(one.share for one in found.operations) == pytest.approx(1)
    assert len(found.result.values("profiled_step_time")) == 2


@pytest.mark.real("jax")
def test_a_profiled_step_is_not_taken_for_a_measured_one(tmp_path):
    found = profile.profile(f"{SMALL}@jax", steps=1, output=tmp_path / "copy", label="look")

    assert found.result.facts["profiled"] is True
    assert found.result.label == "look"
    assert found.result.values("step_time") == ()
    assert Path(found.trace).is_relative_to(tmp_path / "copy")
    assert list((tmp_path / "copy").rglob("*.xplane.pb"))


@pytest.mark.real("keras", "jax")
def test_a_call_of_fit_is_profiled_whole():
    found = profile.profile(f"{SMALL}@keras-jax:method=fit,epochs=2,examples=32")

    assert len(found.result.values("profiled_step_time")) == 1
    assert any("dot" in f"{one.name} {one.source}" for one in found.operations)


def test_a_backend_without_a_profiler_is_refused_before_anything_runs(endings, home):
    with pytest.raises(NotPossibleError, match="'python' has no profiler") as caught:
        profile.profile(f"{endings}:fine@python")

    assert "keras-jax" in caught.value.hint
    assert not home.exists()


@pytest.mark.real("jax")
def test_one_case_is_profiled_at_a_time(home):
    with pytest.raises(UsageError, match="but profile takes one"):
        profile.profile("mnist-mlp")

    assert not home.exists()


@pytest.mark.parametrize(
    ("case", "more", "message"),
    [
        ("mnist-mlpp@jax", {}, "no workload named 'mnist-mlpp'"),
        ("mnist-mlp@jaxx", {}, "no backend named 'jaxx'"),
        ("mnist-mlp@jax", {"steps": 0}, "steps is 0"),
        ("mnist-mlp@jax", {"output": __file__}, "is a file"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(case, more, message, home):
    with pytest.raises(UsageError, match=message):
        profile.profile(case, **more)

    assert not home.exists()
