"""HPVM's knobs compute HPVM's rules: against torch, layer by layer and for whole configurations."""

from __future__ import annotations

import numpy as np
import pytest

from assay.native import ops, reference
from assay.native.capture import capture
from assay.native.graph_builder import GraphBuilder
from assay.native.knobs.apply import apply_knobs
from assay.native.knobs.table import BASELINE, HALF, KNOBS
from assay.native.passes.pipeline import optimize
from assay.native.passes.transposes import take_channels_first
from tests.native.test_nets import built

pytestmark = pytest.mark.real("keras", "jax", "torch")

HPVMS = [each.id for each in KNOBS.values() if each.name.startswith(("perf", "samp"))]
HPVMS = [number for number in HPVMS if number < 300]
SHAPES = [  # channels, filters, window, stride, padding, size
    (3, 4, (3, 3), 1, 1, (9, 8)),
    (5, 3, (1, 1), 1, 0, (6, 7)),
    (4, 6, (5, 5), 1, 2, (8, 8)),
    (1, 8, (11, 11), 4, 2, (30, 31)),
    (6, 5, (2, 4), 2, 1, (10, 9)),
    (7, 2, (3, 3), 2, 0, (9, 9)),
]


def layer(shape, seed):
    random = np.random.default_rng(seed)
    channels, filters, window, stride, padding, size = shape
    building = GraphBuilder()
    value = building.add_input("input", (channels, *size)).value
    weight = building.constant("weight", random.normal(size=(filters, channels, *window)))
    bias = building.constant("bias", random.normal(size=filters))
    op = ops.ConvOp(weight, bias, (stride, stride), (padding,) * 4)
    graph = building.graph("layer", [building.add("layer", op, value)])
    return graph, random.normal(size=(2, channels, *size)).astype(np.float32)


@pytest.mark.parametrize("number", HPVMS)
def test_each_knob_computes_hpvms_rule_with_and_without_calibration_images(number):
    from tests.native.hpvm import rules

    for seed, shape in enumerate(SHAPES):
        graph, images = layer(shape, seed)
        best = optimize(graph)
        expected = rules.outputs(graph, {"layer": number}, images)

        for items in ((), (images,)):
            result = reference.outputs(apply_knobs(best, {"layer": number}, items), images)[0]
            np.testing.assert_allclose(result, expected, atol=1e-4, rtol=1e-5)


NETWORKS = ["lenet", "alexnet2", "resnet18-cifar10"]


@pytest.mark.parametrize("name", NETWORKS)
def test_configurations_of_many_knobs_compute_hpvms_rules(name, keras):
    from tests.native.hpvm import rules

    random = np.random.default_rng(NETWORKS.index(name))
    graph = take_channels_first(capture(built(name).model, name))
    best = optimize(graph)
    layers = [node for node in graph.nodes if isinstance(node.op, ops.ConvOp)]
    images = random.normal(size=(2, *graph.inputs[0].shape)).astype(np.float32)

    for _ in range(3):
        drawn = {node.name: int(random.choice([BASELINE, HALF, *HPVMS])) for node in layers}
        expected = rules.outputs(graph, drawn, images)
        result = reference.outputs(apply_knobs(best, drawn), images)[0]
        np.testing.assert_allclose(result, expected, atol=1e-4 * np.abs(expected).max())
        exact = reference.outputs(graph, images)[0]
        assert np.abs(expected - exact).max() > 1e-2 * np.abs(exact).max()
