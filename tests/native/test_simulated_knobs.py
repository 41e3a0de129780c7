"""Knobs of machines that are not here: what is simulated is what HPVM says of them."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.native import ops, reference
from assay.native.activations import apply_activation
from assay.native.knobs.apply import apply_knobs
from assay.native.knobs.simulated import NOISE, quantize, skip_mask
from assay.native.knobs.table import KNOBS, available_knobs
from assay.native.passes.pipeline import optimize
from tests.native.knob_cases import both, items_for
from tests.native.making import Making


def pooling():
    """A convolution, a mean over windows, one over all that is left, and a dense layer."""
    made = Making(4, 8, 8)
    active = made.add(ops.ActivationOp("relu"), made.conv(made.input, 8, 3, pads=(1, 1, 1, 1)))
    pooled = made.add(ops.PoolOp("average", (2, 2), (2, 2)), active)
    whole = made.add(ops.GlobalPoolOp("average"), pooled)
    return optimize(made.graph(made.add(ops.DenseOp(made.constant(6, 8)), whole)))


CONV, POOL, WHOLE, DENSE = (node.name for node in pooling().nodes)


def test_a_number_becomes_the_lower_end_of_its_level():
    op = ops.ActivationOp("levels", -1.0, 1.0)
    values = np.array([-2, -1, -0.9999, 0, 0.0079, 0.99, 1, 5, np.nan], np.float32)

    found = apply_activation(op, values)

    wanted = [-1, -1, -1, 0, 1 / 128, 126 / 128, 127 / 128, 127 / 128, -1]
    np.testing.assert_allclose(found, wanted, atol=1e-7)


def test_a_range_leaves_out_what_is_far():
    values = np.append(np.linspace(0, 1, 10_000), 1000).astype(np.float32)

    found = quantize(values)

    assert 0 <= found.alpha < 0.002 and 0.99 < found.limit < 1.01


@pytest.mark.parametrize("swing", range(1, 8))
def test_promise_rounds_what_goes_in_and_out_and_adds_noise(swing):
    graph = pooling()
    items = items_for(graph)

    changed = apply_knobs(graph, {CONV: swing}, items)
    values = reference.compute_values(changed, *items)

    name = f"{CONV}/swing{swing}"
    assert len(np.unique(values[f"{name}/levels"])) <= 256
    assert len(np.unique(values[graph.nodes[0].output])) <= 256
    assert len(np.unique(changed.constants[f"{name}/weight"])) <= 256
    noise = changed.constants[f"{name}/noise"]
    assert noise.shape == (4, 8, 8)
    assert abs(noise.std() - NOISE[swing]) < 0.15 * NOISE[swing] and abs(noise.mean() - 1) < 0.15


def test_the_same_noise_is_drawn_each_time():
    graph = pooling()
    items = items_for(graph)

    first, second = (apply_knobs(graph, {CONV: 3}, items) for _ in range(2))

    np.testing.assert_array_equal(
        reference.outputs(first, *items)[0], reference.outputs(second, *items)[0]
    )


@pytest.mark.parametrize(("number", "dropped"), [(41, [1, 3]), (43, [2]), (45, [3]), (46, [3])])
def test_a_mean_is_over_what_is_kept(number, dropped):
    graph = pooling()
    items = items_for(graph)
    before = reference.compute_values(graph, *items)[graph.nodes[0].output]
    count, _, *size = before.shape
    windows = before.reshape(count, 8, size[0] // 2, 2, size[1] // 2, 2).transpose(0, 1, 2, 4, 3, 5)
    kept = np.delete(windows.reshape(*windows.shape[:4], 4), dropped, -1)

    found = reference.compute_values(apply_knobs(graph, {POOL: number}), *items)[
        graph.nodes[1].output
    ]

    exact = 1e-3 if KNOBS[number].half else 1e-6
    np.testing.assert_allclose(found, kept.mean(-1), rtol=exact, atol=1e-6)


def test_terms_are_left_out_evenly():
    shares = {count: skip_mask(count, 0.4).sum() for count in (1, 2, 5, 10, 49)}

    assert shares == {1: 0, 2: 0, 5: 2, 10: 4, 49: 19}


@pytest.mark.parametrize(
    ("layer", "number", "complaint"),
    [
        (CONV, 41, "it takes no mean over windows"),
        (POOL, 3, "it is no convolution or dense layer"),
        (CONV, 3, "are to be swing_level, but there are no items"),
    ],
)
def test_what_cannot_be_simulated_is_refused(layer, number, complaint):
    with pytest.raises(UsageError, match=complaint):
        apply_knobs(pooling(), {layer: number})


def test_what_is_simulated_is_not_offered():
    graph = pooling()

    found = {number for node in graph.nodes for number in available_knobs(node, graph)}

    assert not {number for number in found if KNOBS[number].runs == "simulated"}


@pytest.mark.real("compiler")
def test_programs_simulate_as_the_oracle_does(plain_tools, native_cache):
    graph = pooling()
    items = items_for(graph)
    changed = apply_knobs(graph, {CONV: 2, POOL: 43, WHOLE: 41, DENSE: 7}, items)

    (found,), (wanted,) = both(changed, items, plain_tools, native_cache)

    # a sum that lies between two levels may fall to either side
    assert np.abs(found - wanted).max() <= 0.01 * np.abs(wanted).max()
