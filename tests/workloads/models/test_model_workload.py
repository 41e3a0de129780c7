"""What the workloads of the zoo share: sizes, checks, seeded batches; and the suites."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core import registry
from assay.core.errors import UsageError
from assay.measure import plan
from assay.workloads import dlrm, suites
from assay.workloads.models import model_workload

SIZES = {"small": {"layers": 4, "width": 512}}


def test_a_size_gives_the_numbers_that_are_not_given_by_hand():
    found = model_workload.size_options(SIZES, "small", layers=0, width=64)

    assert found == {"layers": 4, "width": 64}


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: plan.expand_cases(["vit:size=smal"], ["keras-jax"]), "size of vit is 'smal'"),
        (lambda: plan.expand_cases(["vgg16:bn=mode1"], ["jax"]), "one of none, mode0, mode2"),
        (lambda: model_workload.parse_counts("blocks", "3-4-x", 3), "blocks is '3-4-x'"),
        (lambda: model_workload.parse_counts("blocks", "3-4", 3), "3 numbers"),
        (lambda: model_workload.check_at_least("image_size", 31, 32, "why"), "image_size is 31"),
        (lambda: model_workload.check_divides("heads", 5, "width", 16), "heads=5 does not divide"),
        (lambda: suites.suite("yesterday"), "no suite named 'yesterday'"),
    ],
)
def test_a_wrong_value_is_refused_in_words(call, complaint):
    with pytest.raises(UsageError, match=complaint):
        call()


def test_batches_come_from_the_seed_alone_and_fit_their_model():
    pictures, labels = model_workload.random_images(64, (4, 4, 3), 10, seed=1)
    tokens = model_workload.tokens(8, 16, 50, seed=1)
    (numbers, places), clicks = dlrm.batch(64, rows=20, seed=1)

    assert (pictures == model_workload.random_images(64, (4, 4, 3), 10, seed=1)[0]).all()
    assert not (tokens == model_workload.tokens(8, 16, 50, seed=2)).all()
    assert pictures.dtype == numbers.dtype == clicks.dtype == np.float32
    assert labels.dtype == tokens.dtype == places.dtype == np.int32
    assert -1 <= pictures.min() < 0 < pictures.max() < 1 and set(labels) == set(range(10))
    assert tokens.max() < 50 and places.max() < 20 and set(clicks.ravel()) == {0.0, 1.0}


@pytest.mark.parametrize("name", suites.SUITES)
def test_every_case_of_a_suite_can_be_planned(name):
    texts = suites.suite(name)

    found = plan.expand_cases(texts, backends=["keras-jax"])

    assert len(found) == len(texts)


def test_the_suite_of_2017_has_its_models_and_batch_sizes():
    found = plan.expand_cases(suites.suite("keras-benchmarks"), backends=["keras-jax"])

    assert [(case.workload, case.params["batch_size"]) for case in found] == [
        ("mnist-mlp", 32),
        ("cifar10-cnn", 32),
        ("lstm", 32),
        ("gru", 32),
        ("resnet50", 32),
        ("resnet50", 16),
        ("resnet50", 64),
        ("vgg16", 8),
        ("xception", 16),
    ]


def test_every_workload_says_what_it_is_and_where_it_comes_from():
    found, _ = registry.all_plugins("workloads")

    assert {"lstm", "gru", "resnet50", "xception", "vit", "convnext", "unet", "dlrm"} <= set(found)
    assert all(thing.summary and thing.source and thing.version for thing in found.values())
    assert all({"batch_size", "seed"} <= set(thing.params) for thing in found.values())
