"""The rule that benchmarks/ab.py plays on recorded pairs."""

import importlib.util
import random
from pathlib import Path

import numpy as np
import pytest

FILE = Path(__file__).parent.parent.parent / "benchmarks" / "ab.py"


@pytest.fixture(scope="module")
def ab():
    spec = importlib.util.spec_from_file_location("benchmarks_ab", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pairs(effect, between, within=0.002):
    random = np.random.default_rng(0)
    levels = effect + between * random.standard_normal((30, 1))
    logs = within * random.standard_normal((2, 30, 10))
    return np.exp(np.stack([logs[0], logs[1] + levels], axis=1))


def test_a_change_is_found_in_few_pairs(ab):
    found = ab.trial(pairs(0.05, 0.004), random.Random(1), swap=False)

    assert (found.verdict, found.pairs <= 6) == ("slower", True)
    assert found.sampling >= found.pairs * 7 * 2 * ab.TURN - 1e-9


def test_identical_contenders_are_called_the_same(ab):
    assert ab.trial(pairs(0.0, 0.001), random.Random(1), swap=True).verdict == "same"


def test_what_varies_too_much_cannot_be_told(ab):
    assert ab.trial(pairs(0.0, 0.2), random.Random(1), swap=True).verdict == "cannot-tell"
