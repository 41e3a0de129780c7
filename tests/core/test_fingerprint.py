"""What is kept of outputs: a fixed sample of them, the same in every framework."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core import fingerprint
from tests.workloads.test_bare import opened

MANY = 3 * fingerprint.MAX_VALUES


def test_few_outputs_are_all_looked_at_and_many_are_sampled_from_end_to_end():
    assert fingerprint.sample_indices(5).tolist() == [0, 1, 2, 3, 4]
    many = fingerprint.sample_indices(MANY)
    assert (len(many), many[0], many[-1]) == (fingerprint.MAX_VALUES, 0, MANY - 1)
    assert fingerprint.sample_indices(0).tolist() == []


def test_a_digest_tells_shape_norm_and_some_values():
    found = fingerprint.fingerprint_outputs((2, 2), np.array([3.0, 0.0, 0.0, -4.0], np.float32))

    assert found == {
        "output_shape": "2x2",
        "outputs": "3 0 0 -4",
        "outputs_norm": 5.0,
        "outputs_largest": 4.0,
    }


@pytest.mark.parametrize(
    "backend", [pytest.param(name, marks=pytest.mark.real(name)) for name in ("torch", "jax")]
)
def test_a_framework_picks_the_sample_where_the_outputs_are(backend, tmp_path):
    module = {"torch": "import torch as np", "jax": "import jax, jax.numpy as np"}[backend]
    file = tmp_path / "wide.py"
    file.write_text(
        f"{module}\nwide = lambda x: x\ndef spread(x):\n"
        f"    return np.arange({MANY}.0).reshape(3, -1) + x\nspread.example = np.ones(1)\n"
    )
    with opened(f"{file}:spread@{backend}") as (session, _):
        shape, found = session.sampled_outputs()
        whole = session.outputs()

    assert shape == whole.shape == (3, fingerprint.MAX_VALUES)
    assert np.array_equal(found, whole.ravel()[fingerprint.sample_indices(MANY)])
