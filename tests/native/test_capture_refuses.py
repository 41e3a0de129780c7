"""What capture does not fully understand it refuses, with the layer and the reason."""

from __future__ import annotations

import pytest

from assay.core.errors import UsageError
from assay.native.capture import capture
from tests.native.capture.test_capture import check

pytestmark = pytest.mark.real("keras", "jax")


def called(keras, call, shape=(4,)):
    """A model of a layer called in some way."""
    image = keras.Input(shape)
    return keras.Model(image, call(image))


@pytest.mark.parametrize(
    "call, what",
    [
        (lambda k, x: k.BatchNormalization(name="it")(x, training=True), "training=True"),
        (lambda k, x: k.Dropout(0.5, name="it")(x, training=True), "training=True"),
        (lambda k, x: k.GaussianNoise(1.0, name="it")(x, training=True), "training=True"),
        (lambda k, x: k.Softmax(name="it")(x, mask=x), "mask=a KerasTensor"),
        (lambda k, x: k.Softmax(name="it")(x, x), "2 arguments"),
    ],
)
def test_an_argument_of_a_call_is_refused_with_its_layer(call, what, keras):
    with pytest.raises(UsageError, match=f"The layer 'it' is called with {what}"):
        capture(called(keras, lambda image: call(keras.layers, image)))


def test_a_model_called_to_train_inside_another_is_refused(keras):
    inner = keras.Sequential([keras.Input((4,)), keras.layers.Dropout(0.5)], name="inner")

    with pytest.raises(UsageError, match="The layer 'inner' is called with training=True"):
        capture(called(keras, lambda image: inner(image, training=True)))


def test_a_call_for_inference_is_captured(keras):
    check(called(keras, lambda x: keras.layers.BatchNormalization()(x, training=False)))


@pytest.mark.parametrize("mode", ["int8", "int4", "float8"])
def test_a_quantized_layer_is_refused(mode, keras):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, name="it")])
    model.quantize(mode)

    with pytest.raises(UsageError, match=f"The layer 'it' is a Dense quantized to {mode}"):
        capture(model)


def test_a_layer_with_lora_is_refused(keras):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="it")])
    model.layers[0].enable_lora(1)

    with pytest.raises(UsageError, match="The layer 'it' is a Dense with lora"):
        capture(model)


def test_another_precision_is_refused(keras):
    layer = keras.layers.Dense(3, name="it", dtype="mixed_bfloat16")

    with pytest.raises(UsageError, match="The layer 'it' is giving bfloat16"):
        capture(keras.Sequential([keras.Input((4,)), layer]))


def test_inputs_that_are_no_floats_are_refused(keras):
    image = keras.Input((4, 4, 3), dtype="uint8")

    with pytest.raises(UsageError, match="The input 'input' is uint8"):
        capture(keras.Model(image, keras.layers.Rescaling(0.1)(image)))


def doubling(keras, base):
    class Doubling(base):
        def call(self, inputs, *given, **more):
            return 2 * super().call(inputs, *given, **more)

    if base is keras.Sequential:
        return Doubling([keras.Input((4,)), keras.layers.Dense(4)], name="it")
    image = keras.Input((4,))
    return Doubling(image, keras.layers.Dense(4)(image), name="it")


@pytest.mark.parametrize("base", ["Sequential", "Model"])
@pytest.mark.parametrize("nested", [True, False])
def test_a_model_with_a_call_of_its_own_is_refused(base, nested, keras):
    model = doubling(keras, getattr(keras, base))
    model = called(keras, model) if nested else model

    with pytest.raises(UsageError, match="The layer 'it' is a Doubling with a call of its own"):
        capture(model)


def test_a_model_that_only_builds_itself_is_captured(keras):
    class Built(keras.Model):
        def __init__(self):
            image = keras.Input((4,))
            super().__init__(image, keras.layers.Dense(2)(image))

    check(called(keras, Built()))


def test_a_layer_whose_call_was_replaced_is_refused(keras):
    layer = keras.layers.Dense(3, name="it")
    model = keras.Sequential([keras.Input((4,)), layer])
    layer.call = lambda inputs: inputs

    with pytest.raises(UsageError, match="The layer 'it' is a Dense with a call of its own"):
        capture(model)


def test_a_setting_that_is_not_known_is_refused(keras, monkeypatch):
    layer = keras.layers.Dense(3, name="it")
    model = keras.Sequential([keras.Input((4,)), layer])
    config = {**layer.get_config(), "rounding": "nearest", "doubled": False}
    monkeypatch.setattr(layer, "get_config", lambda: config)

    with pytest.raises(UsageError, match="The layer 'it' is a Dense with rounding='nearest'"):
        capture(model)


def test_an_activation_of_another_class_is_refused(keras):
    class Doubled(keras.layers.Activation):
        def call(self, inputs):
            return 2 * super().call(inputs)

    layer = keras.layers.Dense(3, name="it", activation=Doubled("relu"))

    with pytest.raises(UsageError, match="'it' is with the activation Doubled"):
        capture(keras.Sequential([keras.Input((4,)), layer]))


def test_an_axis_that_keras_adds_to_a_model_inside_another_is_refused(keras):
    inner = keras.Sequential([keras.Input((4, 1)), keras.layers.Flatten()], name="inner")

    with pytest.raises(UsageError, match=r"'inner' is a model of inputs \[\(4, 1\)\] given"):
        capture(called(keras, inner))
