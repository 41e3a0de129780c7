"""Values share memory only where nobody needs both, and pictures stay blocked between kernels."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings

from assay.native import ops, oracle
from assay.native.passes import fusion
from assay.native.passes.layouts import layouts
from assay.native.passes.memory import plan_memory
from assay.native.passes.pipeline import optimized
from tests.native.making import Making
from tests.native.random_graphs import graphs, inputs_for


def computed_in(arena, graph, image):
    """The outputs, with every value written to and read from its place in one piece of memory."""
    memory = np.full(arena.size, np.nan)
    shapes = graph.shapes()

    def held(name):
        if name == graph.inputs[0].name:
            return image
        start = arena.offsets[name]
        return memory[start : start + math.prod(shapes[name])].reshape(1, *shapes[name])

    for node in graph.nodes:
        result = oracle.result_of(node, [held(name) for name in node.inputs], graph.constants)
        held(node.output)[:] = result
    return [held(name).copy() for name in graph.outputs]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(graphs())
def test_no_value_is_overwritten_while_someone_will_read_it(graph):
    (image,) = inputs_for(graph, batch=1)
    for each in (graph, optimized(graph), fusion.fuse_pools(optimized(graph))):
        wanted = oracle.outputs(each, image, dtype=np.float64)

        found = computed_in(plan_memory(each), each, image.astype(np.float64))

        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_a_chain_needs_the_room_of_two_values():
    made = Making(16, 4, 4)
    value = made.input
    for _ in range(6):
        value = made.conv(value, 16)

    arena = plan_memory(made.graph(value))

    assert arena.size == 2 * 16 * 4 * 4


def test_a_shortcut_keeps_its_place_until_the_sum():
    made = Making(16, 4, 4)
    kept = made.conv(made.input, 16)
    inner = made.conv(kept, 16)
    outer = made.conv(inner, 16)
    graph = made.graph(made.add(ops.Binary("add"), outer, kept))

    offsets = plan_memory(graph).offsets

    assert len({offsets[kept], offsets[inner], offsets[outer]}) == 3


def test_an_activation_writes_over_its_input_unless_others_read_it():
    made = Making(16, 4, 4)
    first = made.conv(made.input, 16)
    alone = made.add(ops.Activation("tanh"), first)
    second = made.conv(alone, 16)
    shared = made.add(ops.Activation("tanh"), second)
    graph = made.graph(made.add(ops.Binary("add"), shared, second))

    offsets = plan_memory(graph).offsets

    assert offsets[alone] == offsets[first]
    assert offsets[shared] != offsets[second]


def test_channels_of_a_blocked_value_are_rounded_up():
    made = Making(3, 4, 4)
    inner = made.conv(made.input, 5)

    graph = made.graph(made.conv(inner, 6))

    assert layouts(graph)[inner] == "blocked"
    assert plan_memory(graph).size == 16 * 16 + 6 * 16


def test_what_is_flattened_or_leaves_the_graph_is_plain():
    made = Making(3, 4, 4)
    first = made.conv(made.input, 4)
    second = made.conv(first, 4)
    flat = made.add(ops.Reshape((64,)), second)

    found = layouts(made.graph(flat))

    assert (found["input"], found[first], found[second], found[flat]) == (
        *("plain", "blocked", "plain", "plain"),
    )
