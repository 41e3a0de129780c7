"""A captured model computes what Keras computes, layer by layer, in either data format."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.native import reference
from assay.native.capture import capture, supported_layers
from assay.native.passes.pipeline import optimize

pytestmark = pytest.mark.real("keras", "jax")
FORMATS = ("channels_last", "channels_first")
NEAR = 1e-5  # of the largest output: Keras computes in float32, the oracle here in float64


@pytest.fixture(params=FORMATS)
def pictures(request, keras):
    """What makes an image's shape and channel axis, with Keras set to one data format."""
    before = keras.config.image_data_format()
    keras.config.set_image_data_format(request.param)
    yield request.param
    keras.config.set_image_data_format(before)


def shape_in(data_format, channels=4, height=9, width=8):
    last = data_format == "channels_last"
    return (height, width, channels) if last else (channels, height, width)


def axis_in(data_format):
    return -1 if data_format == "channels_last" else 1


def with_random_weights(model):
    random = np.random.default_rng(0)
    for weight in model.weights:
        low = 0.2 if "variance" in weight.name else -0.5
        weight.assign(random.uniform(low, 0.9, weight.shape))
    return model


def check(model):
    """The captured graph, as it is and optimized, against the model itself."""
    graph = capture(with_random_weights(model))
    random = np.random.default_rng(1)
    inputs = [
        random.normal(size=(3, *tensor.shape[1:])).astype(np.float32) for tensor in model.inputs
    ]
    wanted = model.predict_on_batch(inputs if len(inputs) > 1 else inputs[0])
    for each in (graph, optimize(graph)):
        (found,) = reference.outputs(each, *inputs, dtype=np.float64)
        assert found.shape == wanted.shape
        assert np.abs(found - wanted).max() < NEAR * max(1, np.abs(wanted).max())
    return graph


LAYERS = {
    "strided same": lambda k: [k.Conv2D(6, (3, 5), strides=(2, 3), padding="same")],
    "valid with relu": lambda k: [k.Conv2D(6, 3, activation="relu")],
    "groups": lambda k: [k.Conv2D(6, 3, groups=2, use_bias=False)],
    "dilation": lambda k: [k.Conv2D(3, 3, dilation_rate=(2, 1), padding="same")],
    "softmax of a convolution": lambda k: [k.Conv2D(3, 1, activation="softmax")],
    "depthwise": lambda k: [k.DepthwiseConv2D(3, strides=2, padding="same")],
    "depth multiplier": lambda k: [k.DepthwiseConv2D((2, 3), depth_multiplier=3)],
    "separable": lambda k: [k.SeparableConv2D(5, 3, depth_multiplier=2, activation="tanh")],
    "max pool": lambda k: [k.MaxPooling2D((3, 2), strides=(2, 1))],
    "max pool same": lambda k: [k.MaxPooling2D(3, strides=2, padding="same")],
    "mean pool": lambda k: [k.AveragePooling2D(2)],
    "mean pool same": lambda k: [k.AveragePooling2D((3, 2), strides=2, padding="same")],
    "global mean": lambda k: [k.GlobalAveragePooling2D()],
    "global max kept": lambda k: [k.GlobalMaxPooling2D(keepdims=True)],
    "asymmetric padding": lambda k: [k.ZeroPadding2D(((1, 0), (2, 3))), k.Conv2D(3, 3)],
    "padding under a pool": lambda k: [k.ZeroPadding2D(1), k.AveragePooling2D(3)],
    "upsampling": lambda k: [k.UpSampling2D((2, 3))],
    "flatten": lambda k: [k.Conv2D(3, 1), k.Flatten(), k.Dense(5, activation="softmax")],
    "dense over channels": lambda k: [k.Dense(5, activation="relu")],
    "reshape": lambda k: [k.Reshape((-1, 6)), k.Dense(3)],
    "permute": lambda k: [k.Permute((3, 1, 2)), k.Flatten()],
    "dropout": lambda k: [k.Dropout(0.5), k.SpatialDropout2D(0.5), k.GaussianNoise(1.0)],
    "relu": lambda k: [k.ReLU()],
    "relu with slope and limit": lambda k: [k.ReLU(max_value=0.7, negative_slope=0.1)],
    "leaky relu": lambda k: [k.LeakyReLU(negative_slope=0.3)],
    "elu": lambda k: [k.ELU(alpha=0.5)],
    "softmax over rows": lambda k: [k.Softmax(axis=1)],
    "rescaling": lambda k: [k.Rescaling(0.5, offset=-1.0)],
    "a layer as activation": lambda k: [k.Conv2D(3, 1, activation=k.LeakyReLU())],
}


DIFFERS_ON_TENSORFLOW = ("depthwise", "channels_first")  # should another test have loaded that


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_computes_what_it_does_in_keras(name, keras, pictures):
    layers = LAYERS[name](keras.layers)
    if keras.backend.backend() == "tensorflow" and (name, pictures) == DIFFERS_ON_TENSORFLOW:
        pytest.xfail("TensorFlow's CPU kernel computes something else")

    check(keras.Sequential([keras.Input(shape_in(pictures)), *layers]))


@pytest.mark.parametrize("parts", [(True, True), (False, True), (True, False), (False, False)])
def test_a_batch_norm_may_lack_scale_or_center(parts, keras, pictures):
    scale, center = parts
    norm = keras.layers.BatchNormalization(axis=axis_in(pictures), scale=scale, center=center)

    check(keras.Sequential([keras.Input(shape_in(pictures)), keras.layers.Conv2D(5, 3), norm]))


def test_a_batch_norm_may_be_along_any_axis(keras, pictures):
    layers = [keras.layers.BatchNormalization(axis=axis) for axis in (1, 2, 3)]

    check(keras.Sequential([keras.Input(shape_in(pictures)), *layers]))


@pytest.mark.parametrize(
    "name",
    [
        *("linear", "relu", "relu6", "leaky_relu", "tanh", "sigmoid", "elu", "selu", "gelu"),
        *("silu", "softplus", "softsign", "exponential", "hard_sigmoid", "hard_silu", "softmax"),
    ],
)
def test_an_activation_computes_what_it_does_in_keras(name, keras):
    check(keras.Sequential([keras.Input((50,)), keras.layers.Activation(name)]))


@pytest.mark.parametrize("name", ["Add", "Subtract", "Multiply", "Maximum", "Minimum"])
def test_two_inputs_are_combined_as_in_keras(name, keras, pictures):
    first, second = keras.Input(shape_in(pictures)), keras.Input(shape_in(pictures))
    combined = getattr(keras.layers, name)()([keras.layers.Conv2D(4, 1)(first), second])

    check(keras.Model([first, second], combined))


def test_operators_between_tensors_are_those_layers(keras, pictures):
    image = keras.Input(shape_in(pictures))
    conv = keras.layers.Conv2D(4, 1)(image)

    check(keras.Model(image, (image + conv) * conv - image))


def test_an_operator_may_have_a_number(keras):
    image = keras.Input((3,))

    check(keras.Model(image, image * 2.0))


def test_three_inputs_are_added(keras):
    inputs = [keras.Input((5,)) for _ in range(3)]

    check(keras.Model(inputs, keras.layers.Add()(inputs)))


def test_concatenation_is_along_any_axis(keras, pictures):
    image = keras.Input(shape_in(pictures))
    conv = keras.layers.Conv2D(4, 1)(image)
    along = [keras.layers.Concatenate(axis=axis)([image, conv]) for axis in (1, 2, 3)]

    for output in along:
        check(keras.Model(image, output))


def test_a_gate_of_one_number_for_each_channel_is_multiplied(keras, pictures):
    image = keras.Input(shape_in(pictures))
    mean = keras.layers.GlobalAveragePooling2D(keepdims=True)(image)
    gate = keras.layers.Conv2D(4, 1, activation="sigmoid")(mean)

    check(keras.Model(image, keras.layers.Multiply()([image, gate])))


def test_models_inside_models_and_layers_used_twice_are_captured(keras, pictures):
    shared = keras.layers.Conv2D(4, 3, padding="same")
    inner = keras.Sequential([keras.Input(shape_in(pictures)), shared, keras.layers.ReLU()])
    image = keras.Input(shape_in(pictures))
    again = shared(inner(image))

    graph = check(keras.Model(image, keras.layers.Add()([again, image])))

    assert len(graph.constants) == 4  # one kernel and bias, by the two names the layer goes by


def test_an_unsupported_layer_is_named_with_those_that_are(keras):
    model = keras.Sequential([keras.Input((5, 3)), keras.layers.LSTM(4, name="memory")])

    with pytest.raises(UsageError, match="The layer 'memory' is a LSTM") as caught:
        capture(model)
    assert caught.value.hint == f"Supported: {', '.join(supported_layers())}."
    assert {"Conv2D", "Dense", "Concatenate"} <= set(supported_layers())


def test_a_layer_made_from_a_known_one_is_not_taken_for_it(keras):
    class Doubled(keras.layers.Dense):
        def call(self, inputs):
            return 2 * super().call(inputs)

    check(keras.Sequential([keras.Input((3,)), Doubled(2)]))


@pytest.mark.parametrize(
    "make, what",
    [
        (lambda k: k.Activation("squareplus"), "with the activation squareplus"),
        (lambda k: k.ReLU(threshold=0.5), "a ReLU with a threshold"),
        (lambda k: k.UpSampling2D(2, interpolation="bilinear"), "bilinear interpolation"),
    ],
)
def test_an_unsupported_setting_is_named(make, what, keras):
    with pytest.raises(UsageError, match=what):
        capture(keras.Sequential([keras.Input((4, 4, 2)), make(keras.layers)]))


def test_a_size_that_is_not_known_is_refused(keras):
    model = keras.Sequential([keras.Input((None, None, 3)), keras.layers.Conv2D(2, 3)])

    with pytest.raises(UsageError, match="every size has to be known"):
        capture(model)


def test_a_model_that_does_not_tell_its_layers_is_refused(keras):
    class Own(keras.Model):
        def call(self, inputs):
            return inputs

    with pytest.raises(UsageError, match="without a list of its layers"):
        capture(Own())
