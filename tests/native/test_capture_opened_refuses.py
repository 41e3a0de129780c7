"""What a trace of a layer's call cannot tell is refused, with the layer and the reason."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.native.capture import capture
from tests.native.capture.test_capture import check
from tests.native.test_capture_opened import model_of, own

pytestmark = pytest.mark.real("keras", "jax")


def check_refused(keras, layer, match, shape=(4, 6), hint=""):
    with pytest.raises(UsageError, match=match) as caught:
        capture(model_of(keras, layer, shape))
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "call, told",
    [
        (lambda ops: lambda self, x: x.mean() * x, "AttributeError"),
        (lambda ops: lambda self, x: np.tanh(x), "TypeError|AttributeError|ValueError"),
        (lambda ops: lambda self, x: self.w[0] * x, "ValueError"),
        (lambda ops: lambda self, x: ops.broadcast_to(self.w[0], (x.shape[0], 6)), "TypeError"),
    ],
)
def test_a_call_that_is_not_of_keras_ops_is_refused(call, told, keras):
    layer = own(keras, call(keras.ops), [(6,)])
    layer.build((None, 4, 6))
    layer.compute_output_spec = lambda x: keras.KerasTensor(
        x.shape
    )  # as on an engine where it works

    check_refused(
        keras,
        layer,
        rf"The layer 'own' is a Own whose call does not take symbolic tensors \(({told}): ",
        hint="Write the call in keras.ops",
    )


def test_a_branch_on_values_is_refused(keras):
    layer = own(keras, lambda self, x: x if keras.ops.sum(x) > 0 else -x)
    layer.compute_output_spec = lambda x: keras.KerasTensor(x.shape)

    with pytest.raises(UsageError, match="'own"):
        capture(model_of(keras, layer))


def test_what_is_not_known_within_a_layer_is_told_with_both_names(keras):
    def call(self, x):
        return self.inner(keras.ops.cumsum(x, axis=1))

    layer = own(keras, call, inner=keras.layers.Dense(6))
    check_refused(keras, layer, "'own/cumsum' is a Cumsum of keras.ops, which cannot be captured")

    memory = own(keras, lambda self, x: self.inner(x), inner=keras.layers.LSTM(3, name="memory"))
    check_refused(keras, memory, "The layer 'own/memory' is a LSTM, which cannot be captured")


def test_random_numbers_are_refused(keras):
    def call(self, x):
        return x + keras.random.normal((6,), seed=self.seeds)

    layer = own(keras, call, seeds=keras.random.SeedGenerator(1))
    check_refused(keras, layer, "'own' is a Own that changes the variable 'seed_generator_state'")


def test_random_numbers_of_training_are_not(keras):
    def call(self, x, training=False):
        return x + keras.random.normal((6,), seed=self.seeds) if training else x

    check(model_of(keras, own(keras, call, seeds=keras.random.SeedGenerator(1))))


def test_a_variable_that_a_call_changes_is_refused(keras):
    def call(self, x):
        self.w[0].assign(self.w[0] + 1)
        return x * self.w[0]

    layer = own(keras, call, [(6,)])
    check_refused(keras, layer, "'own' is a Own that changes the variable 'w' in inference")
    assert np.ptp(keras.ops.convert_to_numpy(layer.w[0].value)) < 10  # and it is as it was


def counting(self, x):
    self.calls += 1
    return x * self.calls


def remembering(self, x):
    self.seen.append(x)
    return x + sum(self.seen[:1])


def making(self, x):
    import keras

    return keras.layers.Dense(6)(x)


@pytest.mark.parametrize(
    "call",
    [counting, lambda self, x: x + np.random.default_rng().normal(size=6), making],
    ids=["a counter", "random numbers of numpy", "weights made anew"],
)
def test_a_call_that_is_another_each_time_is_refused(call, keras):
    layer = own(keras, call, calls=0)
    layer.compute_output_spec = lambda x: keras.KerasTensor(x.shape)

    check_refused(
        keras, layer, "'own' is a Own that computes something else each time it is called"
    )


def test_a_tensor_of_an_earlier_call_is_refused(keras):
    layer = own(keras, remembering)
    object.__setattr__(layer, "seen", [keras.Input((4, 6))])
    layer.compute_output_spec = lambda x: keras.KerasTensor(x.shape)

    check_refused(keras, layer, "'own/…' is reading a tensor of another call")


def test_a_mask_that_is_handed_on_is_refused(keras):
    class Masks(keras.layers.Layer):
        supports_masking = True

        def call(self, x):
            return x * 2

        def compute_mask(self, x, mask=None):
            return keras.ops.any(keras.ops.not_equal(x, 0.0), axis=-1)

    check_refused(keras, Masks(name="own"), "'own' is handing on a mask")


@pytest.mark.parametrize("method", ["__call__", "symbolic_call", "quantized_call"])
def test_a_layer_that_replaces_how_keras_calls_it_is_refused(method, keras):
    layer = own(keras, lambda self, x: x * 2)
    model = model_of(keras, layer)
    setattr(type(layer), method, lambda self, x: x)

    with pytest.raises(UsageError, match=f"'own' is a Own with a {method} of its own"):
        capture(model)


def test_what_is_given_to_an_own_layer_has_to_be_tensors(keras):
    layer = own(keras, lambda self, x, power=1, training=False: x**power)
    image = keras.Input((4,))

    with pytest.raises(UsageError, match="The layer 'own' is called with 3,"):
        capture(keras.Model(image, layer(image, power=3)))
    with pytest.raises(UsageError, match="The layer 'own' is called with training=True"):
        capture(keras.Model(image, layer(image, training=True)))


def test_another_precision_of_an_own_layer_is_refused(keras):
    def call(self, x):
        return keras.ops.cast(x, "float32")

    layer = own(keras, call)
    layer.dtype_policy = keras.DTypePolicy("mixed_bfloat16")

    check_refused(keras, layer, "'own' is a Own that computes in bfloat16")


@pytest.mark.parametrize(
    "call, what",
    [
        (lambda ops, x: ops.dot_product_attention(x, x, x, bias=np.zeros((1, 1, 4, 4))), "a bias"),
        (
            lambda ops, x: ops.dot_product_attention(x, x, x, mask=np.ones((2, 1, 4, 4))),
            "a mask of",
        ),
        (lambda ops, x: ops.dot_product_attention(x, x[:, :, :1], x[:, :, :1]), "other heads"),
    ],
)
def test_attention_of_other_kinds_is_refused(call, what, keras):
    layer = own(keras, lambda self, x: call(keras.ops, x))
    layer.compute_output_spec = lambda x: keras.KerasTensor(x.shape)

    check_refused(keras, layer, what, shape=(4, 2, 3))


def test_a_subclassed_model_that_branches_on_values_is_refused(keras):
    class Branching(keras.Model):
        def call(self, values):
            return values if float(values[0, 0]) > 0 else -values

    model = Branching(name="mine")
    model(np.ones((2, 6), np.float32))

    with pytest.raises(UsageError, match="'mine' is a Branching whose call does not take symbolic"):
        capture(model)
