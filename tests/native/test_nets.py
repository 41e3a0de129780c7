"""HPVM's ten networks are captured, and compute what Keras computes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.core import registry
from assay.native import reference
from assay.native.capture import capture
from assay.native.hpvm.dataflow import fused_lines
from assay.native.hpvm.lowering import dataflow, with_softmax
from assay.native.ops import ActivationOp, BatchNormOp, BinaryOp, PadOp
from assay.native.passes.pipeline import optimize
from assay.workloads.accuracy import TEN

pytestmark = pytest.mark.real("keras", "jax")
LARGE = {"alexnet-imagenet", "resnet50-imagenet", "vgg16-imagenet"}
SMALL = [one.name for one in TEN if one.name not in LARGE]

# Leaves, edges and lines of a configuration, as HPVM's own frontend and fusion pass have them.
IN_HPVM = {
    "lenet": (15, 14, 5),
    "alexnet": (21, 20, 7),
    "alexnet2": (24, 23, 8),
    "alexnet-imagenet": (27, 26, 9),
    "vgg16-cifar10": (50, 49, 16),
    "vgg16-cifar100": (50, 49, 16),
    "vgg16-imagenet": (53, 52, 17),
    "mobilenet-cifar10": (85, 84, 84),
    "resnet18-cifar10": (74, 82, 42),
    "resnet50-imagenet": (229, 244, 173),
}


def counts(graph):
    flow = dataflow(with_softmax(graph))
    return len(flow.leaves), len(flow.edges), len(fused_lines(flow))


def built(name):
    """The job with weights by seed; running averages are none of zeros and ones."""
    workload = registry.workload(name)
    job = workload.kinds["keras"](**{**workload.params, "batch_size": 1})
    random = np.random.default_rng(2)
    for variable in job.model.non_trainable_variables:
        if "moving" in variable.name:
            variable.assign(random.uniform(0.5, 1.5, variable.shape))
    return job


@pytest.mark.parametrize("name", SMALL)
def test_outputs_are_those_of_keras_before_and_after_the_passes(name, keras):
    job = built(name)
    pictures = job.train_batch[0]
    wanted = job.model.predict_on_batch(pictures)

    graph = capture(job.model, name)

    assert counts(graph) == IN_HPVM[name]
    for each in (graph, optimize(graph)):
        (found,) = reference.outputs(each, pictures)
        np.testing.assert_allclose(found, wanted, atol=1e-4 * np.abs(wanted).max(), rtol=0)


@pytest.mark.family(name="large_networks")
@pytest.mark.parametrize("name", sorted(LARGE))
def test_the_large_ones_are_captured_with_every_weight(name, keras):
    job = built(name)

    graph = capture(job.model, name)

    assert graph.shapes()[graph.outputs[0]] == (1000,)
    held = sum(array.size for array in graph.constants.values())
    assert held == sum(math.prod(weight.shape) for weight in job.model.weights)
    assert counts(graph) == IN_HPVM[name]


@pytest.mark.parametrize("name", ["mobilenet-cifar10", "resnet18-cifar10", "resnet50-imagenet"])
def test_no_norm_padding_sum_or_activation_is_left_to_itself(name, keras):
    graph = optimize(capture(built(name).model, name))

    left = [
        node.name for node in graph.nodes if isinstance(node.op, BatchNormOp | PadOp | BinaryOp)
    ]
    left += [node.name for node in graph.nodes if isinstance(node.op, ActivationOp)]
    assert left == []
