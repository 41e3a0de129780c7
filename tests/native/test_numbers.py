"""Infinities, what is no number, and large numbers come out as Keras has them."""

from __future__ import annotations

import numpy as np
import pytest

from assay.native import ops, reference
from assay.native.passes import fusion
from assay.native.toolchain import onednn_folder, toolchain
from tests.native.built import compiled, loaded_outputs
from tests.native.by_others import by_onnxruntime
from tests.native.making import Making

NAN, INF = np.nan, np.inf
ODD = np.array([[NAN, INF, -INF, -1, 0, 2, 1e30, -1e30]], np.float32)
NAMES = ("relu", "relu6", "leaky_relu", "tanh", "sigmoid", "elu", "selu", "gelu", "silu")
NAMES += ("softplus", "softsign", "exponential", "hard_sigmoid", "hard_silu", "softmax")


def assert_same(found, wanted, near=1e-5):
    """Equal infinities, no number in the same places, and the finite ones near."""
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(found[np.isinf(wanted)], wanted[np.isinf(wanted)])
    scale = np.abs(wanted[finite]).max(initial=0)
    assert np.abs(found[finite] - wanted[finite]).max(initial=0) <= near * scale


@pytest.fixture(params=["portable", "onednn"])
def kernels(request):
    if request.param == "onednn" and not onednn_folder():
        pytest.skip("needs oneDNN")
    return request.param


def built_outputs(graph, images, kernels, cache):
    emitted, built = compiled(graph, toolchain(kernels), cache)
    return loaded_outputs(emitted, built, images, len(images), kernels=kernels)


@pytest.mark.real("compiler", "keras", "jax", "onnxruntime")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NAMES)
def test_an_activation_of_odd_numbers_is_that_of_keras(name, keras, plain_tools, native_cache):
    from assay.native.capture import capture

    model = keras.Sequential([keras.Input((8,)), keras.layers.Activation(name)], name=name)
    wanted = np.asarray(model(ODD))
    graph = capture(model)
    emitted, built = compiled(graph, plain_tools, native_cache)

    assert_same(reference.outputs(graph, ODD)[0], wanted)
    assert_same(by_onnxruntime(graph, [ODD])[0], wanted)
    assert_same(loaded_outputs(emitted, built, ODD, 1), wanted)


def odd_pictures(*shape):
    images = np.random.default_rng(2).normal(size=shape, scale=0.05).astype(np.float32)
    images[0, 0, 2, 2], images[0, 1, 8, 8], images[0, 2, 8, 1] = NAN, INF, -INF
    return images


@pytest.mark.real("compiler")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("window", [1, 3, 5])
@pytest.mark.parametrize("kind", ["relu", "tanh"])
def test_a_convolution_hands_on_what_is_no_number(window, kind, kernels, native_cache):
    made = Making(16, 11, 11)
    conv = made.conv(made.input, 20, window, pads=(window // 2,) * 4)
    graph = made.graph(made.add(ops.ActivationOp(kind), conv))
    images = odd_pictures(2, 16, 11, 11)

    assert_same(
        built_outputs(graph, images, kernels, native_cache), reference.outputs(graph, images)[0]
    )


@pytest.mark.real("compiler")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", ["maximum", "minimum", "pool"])
def test_a_largest_or_smallest_is_no_number_where_one_is_none(kind, kernels, native_cache):
    made = Making(4, 10, 10)
    if kind == "pool":
        made_of = made.add(ops.PoolOp("max", (2, 2), (2, 2)), made.input)
    else:
        turned = made.add(ops.TransposeOp((0, 2, 1)), made.input)
        made_of = made.add(ops.BinaryOp(kind), made.input, turned)
    graph, images = made.graph(made_of), odd_pictures(2, 4, 10, 10)

    assert_same(
        built_outputs(graph, images, kernels, native_cache), reference.outputs(graph, images)[0]
    )


@pytest.mark.real("compiler")
@pytest.mark.parametrize("window", [3, 5])
@pytest.mark.parametrize("weights, inputs", [(1e36, 1.0), (1.0, 1e36), (1e19, 1e17)])
def test_large_numbers_do_not_overflow_on_the_way(weights, inputs, window, kernels, native_cache):
    made = Making(16, 11, 11)
    values = made.random.uniform(-1, 1, (8, 16, window, window)) * weights
    weight = made.building.constant("large", values)
    graph = made.graph(made.add(ops.ConvOp(weight), made.input))
    images = np.random.default_rng(3).uniform(-1, 1, (2, 16, 11, 11)) * inputs
    images = images.astype(np.float32)
    wanted = reference.outputs(graph, images, dtype=np.float64)[0]

    assert_same(built_outputs(graph, images, kernels, native_cache), wanted)


def test_a_maximum_does_not_hide_what_softsign_makes_of_infinity():
    made = Making(3, 6, 6)
    active = made.add(ops.ActivationOp("softsign"), made.input)
    graph = made.graph(made.add(ops.PoolOp("max", (2, 2), (2, 2)), active))

    assert fusion.pool_before_activation(graph) == graph


@pytest.mark.real("compiler", "onnxruntime")
@pytest.mark.parametrize("kind", ["equal", "less", "less_equal"])
def test_a_comparison_is_one_or_zero_and_zero_with_what_is_no_number(
    kind, plain_tools, native_cache
):
    made = Making(8)
    other = made.building.add_constant("other", [NAN, INF, 0, -1, 0, 1, 1e30, 1e30], (0,))
    graph = made.graph(made.add(ops.BinaryOp(kind), made.input, other))
    emitted, built = compiled(graph, plain_tools, native_cache)

    wanted = reference.outputs(graph, ODD)[0]

    assert set(wanted.ravel()) == {0, 1}
    assert_same(by_onnxruntime(graph, [ODD])[0], wanted)
    assert_same(loaded_outputs(emitted, built, ODD, 1), wanted)
