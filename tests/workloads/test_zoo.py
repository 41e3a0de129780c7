"""Every workload takes steps on every engine of Keras, and its outputs are the same on all."""

from __future__ import annotations

import numpy as np
import pytest

from tests.workloads.opened_all import SMALL, taken_by_all

ENGINES = ("jax", "tensorflow", "torch")
NEAR = 1e-4  # of the largest output
needs_all = pytest.mark.real("keras", *ENGINES)


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    """Engine → workload → what two training steps and an inference gave; made when first asked."""
    known = {}

    def by(engine: str):
        if engine not in known:
            known[engine] = taken_by_all(f"keras-{engine}", tmp_path_factory.mktemp(engine))
        return known[engine]

    return by


def near(found: np.ndarray, wanted: np.ndarray) -> bool:
    return found.shape == wanted.shape and np.abs(found - wanted).max() < NEAR * abs(wanted).max()
