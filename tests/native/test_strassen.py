"""Products of matrices by Strassen's method: the same sums, whatever the sizes."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import AssayError
from assay.native import ops, reference
from assay.native.build import build
from assay.native.emit import emit
from assay.native.kernels import force_kernels
from assay.native.library import LoadedModel
from assay.native.passes.pipeline import optimize
from tests.native.making import Making
from tests.native.test_numbers import assert_same

pytestmark = pytest.mark.real("compiler")


def layer(channels, filters, size):
    """A 1×1 convolution, a sum with what it read, and an activation."""
    made = Making(channels, *size)
    weight = made.building.constant("w", made.random.normal(0, 1, (filters, channels, 1, 1)))
    value = made.add(ops.ConvOp(weight, made.constant(filters)), made.input)
    if channels == filters:
        value = made.add(ops.BinaryOp("add"), value, made.input)
    return optimize(made.graph(made.add(ops.ActivationOp("silu"), value)))


def outputs(graph, images, tools, cache, threads=1):
    (name,) = (node.name for node in graph.nodes if isinstance(node.op, ops.ConvOp))
    emitted = emit(force_kernels(graph, {name: "strassen"}))
    engine = LoadedModel(build(emitted, tools, cache), emitted, len(images), threads, seconds=0)
    assert engine.kernels == ("strassen",)
    found = engine.run(images)[0].copy()
    engine.close()
    return found


@pytest.mark.parametrize(
    ("channels", "filters", "size", "threads"),
    [
        (64, 64, (4, 4), 1),  # whole blocks
        (72, 52, (5, 7), 1),  # rows left over; no whole vectors of channels or filters
        (64, 300, (3, 3), 1),  # several bands of filters
        (92, 92, (41, 17), 1),  # more rows than are computed at once
        (72, 52, (19, 21), 2),  # shared by threads, which get unlike parts
    ],
)
def test_sums_are_those_of_the_definition(
    channels, filters, size, threads, plain_tools, native_cache
):
    graph = layer(channels, filters, size)
    images = np.random.default_rng(5).normal(size=(1, channels, *size)).astype(np.float32)

    found = outputs(graph, images, plain_tools, native_cache, threads)

    assert_same(found, reference.outputs(graph, images, dtype=np.float64)[0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_no_number_stays_in_its_own_pixel(plain_tools, native_cache):
    graph = layer(64, 64, (5, 5))
    images = np.random.default_rng(6).normal(size=(2, 64, 5, 5)).astype(np.float32)
    images[0, 3, 1, 2], images[1, 40, 4, 4], images[0, 9, 3, 0] = np.nan, np.inf, 3e38

    found = outputs(graph, images, plain_tools, native_cache)

    wanted = reference.outputs(graph, images)[0]
    assert np.isnan(wanted).any() and np.isfinite(wanted).mean() > 0.9
    large = np.abs(np.nan_to_num(wanted)) > 1e10
    assert_same(np.where(large, 0, found), np.where(large, 0, wanted))


def test_weights_that_could_overflow_in_a_sum_are_refused(plain_tools, native_cache):
    made = Making(64, 4, 4)
    weight = made.building.constant("w", np.full((64, 64, 1, 1), 2e38))
    graph = optimize(made.graph(made.add(ops.ConvOp(weight), made.input)))
    images = np.zeros((1, 64, 4, 4), np.float32)

    with pytest.raises(AssayError, match="cannot be computed by strassen, but by"):
        outputs(graph, images, plain_tools, native_cache)
