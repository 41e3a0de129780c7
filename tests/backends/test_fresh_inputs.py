"""`inputs=fresh` on every backend, and which cases it refuses."""

import numpy as np
import pytest

from assay.backends.options import vary
from assay.core.errors import UsageError
from assay.core.records import Case
from assay.core.registry import backend
from tests.backends.opened import SIX, SMALL, case, frameworks, opened

CAPTURED = ("onnxruntime", "openvino", "native")


def needs(name):
    needed = {"native": ("keras", "compiler")}.get(name, ("keras", name))
    return pytest.mark.real(*(frameworks(name) if name in SIX else needed))


@pytest.mark.parametrize("name", [pytest.param(n, marks=needs(n)) for n in (*SIX, *CAPTURED)])
def test_steps_take_the_batches_of_a_ring(name, tmp_path):
    with opened(f"{SMALL['mnist-mlp']}@{name}:mode=infer,inputs=fresh", tmp_path) as child:
        first = child.outputs()
        child.step(1)
        of_first = child.outputs()
        child.step(1)
        of_second = child.outputs()

    assert child.facts["inputs"] == "fresh"
    assert child.facts["input_batches"] == 8
    np.testing.assert_allclose(of_first, first, atol=1e-4)
    assert not np.allclose(of_second, first, atol=1e-4)


def test_varied_integers_stay_in_their_range_and_floats_near_theirs():
    tokens, values = np.arange(12).reshape(4, 3), np.linspace(-1, 1, 6, dtype=np.float32)

    assert vary(tokens, 0) is tokens
    np.testing.assert_array_equal(np.sort(vary(tokens, 1).ravel()), np.arange(12))
    assert not (vary(tokens, 1) == tokens).all()
    assert not (vary(tokens[:1], 1) == tokens[:1]).all()
    assert vary(values, 3).dtype == np.float32
    np.testing.assert_allclose(np.sort(vary(values, 3)), values * (1 + 3 / 128), rtol=1e-6)


@pytest.mark.parametrize(
    "name, other, reason",
    [
        ("torch", {"cuda_graphs": "on"}, "a CUDA graph reads one batch in place"),
        ("jax", {"devices": 2}, "a batch that several devices share"),
        ("keras-jax", {"method": "fit"}, "takes its examples itself"),
    ],
)
def test_a_case_that_cannot_take_them_is_refused(name, other, reason):
    options = {**case(f"mnist-mlp@{name}").options, "device": "cpu", **other}
    refused = {
        chosen: backend(name).refuses(
            Case(
                workload="mnist-mlp",
                backend=name,
                params={"batch_size": 32},
                options={**options, "inputs": chosen},
            )
        )
        for chosen in ("same", "fresh")
    }

    assert reason in refused["fresh"]
    assert reason not in refused["same"]


def test_a_callable_takes_no_inputs():
    with pytest.raises(UsageError, match="inputs of python is 'fresh', but has to be one of same"):
        case("./tests/data/endings.py:fine@python:inputs=fresh")
