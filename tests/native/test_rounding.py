"""What rounding explains is allowed, and no more: small mistakes of every kind are found, and bytes
are the same to the last."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from assay.native import ops, reference
from assay.native.passes.pipeline import optimize
from tests.native.knob_cases import SOME, byte_chain, drawn, items_for, with_knobs, wrong
from tests.native.making import Making
from tests.native.rounding import rounding


def without_a_weight(array):
    """One that is neither large nor small is forgotten, of the first filter that has any."""
    array = array.copy()
    for filter in array:
        if filter.any():
            there = np.sort(np.abs(filter[filter != 0]))
            filter[np.abs(filter) == there[len(there) // 2]] = 0
            break
    return array


def one_thousandth_off(array):
    whole = np.array_equal(array, np.rint(array))  # weights of bytes have to stay whole
    return array if whole else array * np.float32(1.001)


def mistaken(graph, field, mistake):
    """The same graph with a mistake in every layer where it can be made, and those layers."""
    named = {n.name: getattr(n.op, field) for n in graph.nodes if getattr(n.op, field, "")}
    made = {name: mistake(graph.constants[name]) for name in named.values()}
    other = {name for name, array in made.items() if (array != graph.constants[name]).any()}
    changed = msgspec.structs.replace(graph, constants={**graph.constants, **made})
    return changed, {layer for layer, name in named.items() if name in other}


@pytest.mark.real("compiler")
@pytest.mark.parametrize(
    ("field", "mistake"),
    [
        ("weight", without_a_weight),
        ("scales", one_thousandth_off),
        ("bias", one_thousandth_off),
        ("weight", one_thousandth_off),
    ],
)
def test_a_small_mistake_is_found_in_every_layer(field, mistake, plain_tools, native_cache):
    graph, knobs = drawn(1, SOME)
    changed, items = with_knobs(graph, knobs)
    computed, touched = mistaken(changed, field, mistake)

    found = wrong(computed, changed, knobs, items, plain_tools, native_cache)

    assert len(touched & set(knobs)) > 8
    assert {name for (name, _), *_ in found} >= touched & set(knobs)


def steep(kind):
    """A layer of large sums, with an activation."""
    made = Making(8, 6, 6)
    weight = made.building.constant("weight", made.random.normal(0, 10, (4, 8, 3, 3)))
    sums = made.add(ops.ConvOp(weight), made.input)
    return optimize(made.graph(made.add(ops.ActivationOp(kind), sums)))


def test_where_an_activation_is_flat_nothing_is_allowed_but_its_own_rounding():
    graph = steep("tanh")
    items = items_for(graph)

    (allowed,) = rounding(graph, ["direct"], items)

    flat = np.abs(reference.outputs(graph, *items, dtype=np.float64)[0]) > 1 - 1e-9
    assert flat.mean() > 0.5 and allowed[flat].max() < 1e-6 < allowed[~flat].max()


@pytest.mark.parametrize("kernel", ["winograd-2x3", "winograd-4x3"])
def test_winograds_method_is_allowed_more_but_not_much(kernel):
    graph = steep("relu")
    items = items_for(graph)

    more, plain = (rounding(graph, [name], items)[0].max() for name in (kernel, "direct"))

    assert plain < more < 30 * plain


@pytest.mark.real("compiler")
@pytest.mark.parametrize("filters", [5, 16, 20, 32, 70])
def test_bytes_are_those_of_the_oracle_but_where_they_may_fall_to_either_side(
    filters, plain_tools, native_cache
):
    graph, knobs = byte_chain(filters, filters)
    changed, items = with_knobs(graph, knobs)
    assert [node.dtype for node in changed.nodes].count("float32") == 1

    for threads in (1, 2):
        assert not wrong(changed, changed, {"last": 13}, items, plain_tools, native_cache, threads)
