"""Real Keras models: what is saved is what was there, proven by what the models answer."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.datasets.library import load as load_data
from assay.datasets.prepare import prepare
from assay.weights.files import read, write
from assay.weights.rows import to_channels_first
from tests.datasets.making import SAMPLE, WHOLE, needs_whole

pytestmark = pytest.mark.real("keras", "jax", "h5py")
FORMS = ["m.keras", "m.weights.h5", "m.h5", "m.npz", "bins"]


@pytest.fixture(scope="module")
def keras(tmp_path_factory):
    with pytest.MonkeyPatch.context() as world:
        world.setenv("KERAS_BACKEND", "jax")
        world.setenv("KERAS_HOME", str(tmp_path_factory.mktemp("keras")))
        import keras

        data_format = keras.config.image_data_format()
        yield keras
        keras.config.set_image_data_format(data_format)


@pytest.fixture(scope="module")
def lenets(keras):
    """Two of them: one to save from, one to load into."""
    return lenet(keras, "channels_last"), lenet(keras, "channels_last")


def branched(keras):
    """Keras keeps its layers in another order than that of creation: the shortcut comes first."""
    from keras import layers

    inputs = keras.Input((6, 6, 3))
    start = layers.BatchNormalization()(layers.Conv2D(4, 3)(inputs))
    deep = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(start)
    deep = layers.Conv2D(4, 1)(deep)
    shortcut = layers.Conv2D(4, 1)(start)
    flat = layers.Flatten()(layers.Add()([shortcut, deep]))
    hidden = layers.Dense(5)(layers.Dropout(0.5)(flat))
    outputs = layers.Dense(2)(layers.Dropout(0.5)(hidden))
    return shaken(keras.Model(inputs, outputs))


def shaken(model):
    """Every variable with values of its own, so that none can stand in for another."""
    random = np.random.default_rng(len(model.name))
    model.set_weights([random.uniform(0.5, 1.5, array.shape) for array in model.get_weights()])
    return model


def answers(model):
    inputs = np.random.default_rng(1).normal(size=(4, *model.input_shape[1:])).astype(np.float32)
    return np.asarray(model(inputs))


def lenet(keras, data_format):
    from keras import layers

    keras.config.set_image_data_format(data_format)
    shape = (28, 28, 1) if data_format == "channels_last" else (1, 28, 28)
    return keras.Sequential(
        [
            keras.Input(shape),
            layers.Conv2D(32, 5, padding="same", activation="tanh"),
            layers.MaxPooling2D(2),
            layers.Conv2D(64, 5, padding="same", activation="tanh"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dense(1024, activation="tanh"),
            layers.Dense(10, activation="tanh"),
        ]
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_model_answers_the_same_after_its_weights_went_through_a_file(keras, tmp_path, form):
    from assay.weights import keras as _keras

    model, other = branched(keras), branched(keras)
    other.set_weights([np.zeros_like(array) for array in other.get_weights()])

    _keras.save(model, tmp_path / form)
    _keras.load(other, tmp_path / form)

    assert np.array_equal(answers(other), answers(model))


@pytest.mark.parametrize("form", ["own.weights.h5", "own.h5"])
def test_keras_itself_loads_what_is_written_here(keras, tmp_path, form):
    from assay.weights import keras as _keras

    model, other = branched(keras), branched(keras)
    other.set_weights([np.zeros_like(array) for array in other.get_weights()])

    write(tmp_path / form, _keras.weights_of(model))
    other.load_weights(tmp_path / form)

    assert np.array_equal(answers(other), answers(model))


def test_a_whole_model_in_an_old_file_is_read(keras, tmp_path):
    from assay.weights import keras as _keras

    model, other = branched(keras), branched(keras)
    model.save(tmp_path / "whole.h5")
    _keras.load(other, tmp_path / "whole.h5")

    assert np.array_equal(answers(other), answers(model))


def test_a_trained_model_with_its_optimizer_is_read(keras, tmp_path):
    from assay.weights import keras as _keras

    model, other = branched(keras), branched(keras)
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(np.ones((4, 6, 6, 3)), np.ones((4, 2)), verbose=0)
    model.save(tmp_path / "trained.keras")
    _keras.load(other, tmp_path / "trained.keras")

    assert np.array_equal(answers(other), answers(model))


def test_names_follow_creation_not_the_order_keras_keeps(keras):
    from assay.weights import keras as _keras

    model = branched(keras)
    kept = [layer.name for layer in model.layers if layer.name.startswith("conv2d")]
    numbers = [int(name.rpartition("_")[2]) if "_" in name else 0 for name in kept]
    found = _keras.weights_of(model)

    assert numbers != sorted(numbers)
    first_created = model.get_layer(kept[numbers.index(sorted(numbers)[1])])
    assert np.array_equal(found["conv2d_2/kernel"], first_created.get_weights()[0])


def test_weights_of_another_model_are_refused_by_layer_and_shape(keras, tmp_path):
    from assay.weights import keras as _keras

    model = branched(keras)
    weights = _keras.weights_of(model)
    weights["dense_1/kernel"] = np.zeros((784, 5))
    write(tmp_path / "w.npz", weights)

    with pytest.raises(
        UsageError, match=r"layer dense_1 .*needs kernel \(64, 5\), but theirs is \(784, 5\)"
    ):
        _keras.load(model, tmp_path / "w.npz")


@needs_whole
@pytest.mark.parametrize("form", FORMS)
def test_trained_weights_recognise_digits_after_any_form(lenets, tmp_path, monkeypatch, form):
    from assay.weights import keras as _keras

    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))
    pictures = load_data("mnist", "test")
    source, other = lenets
    other.set_weights([np.zeros_like(array) for array in other.get_weights()])
    _keras.load(source, WHOLE / "weights" / "lenet.npz")
    _keras.save(source, tmp_path / form)
    _keras.load(other, tmp_path / form)

    found = np.asarray(other(prepare(pictures.inputs, "mnist"))).argmax(1)

    assert (found == pictures.labels).mean() >= 0.98


@needs_whole
@pytest.mark.real("torch")
def test_channels_first_models_recognise_the_same_digits(keras, lenets, monkeypatch):
    """Keras flattens rows, columns, channels in either format; PyTorch flattens channels first."""
    import torch

    from assay.weights import keras as _keras

    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))
    pictures = load_data("mnist", "test", first=50).inputs
    weights = read(WHOLE / "weights" / "lenet.npz")
    last, first = lenets[0], lenet(keras, "channels_first")
    _keras.set_weights(last, weights)
    _keras.set_weights(first, weights)

    expected = np.asarray(last(prepare(pictures, "mnist")))
    ready = prepare(pictures, "mnist", "channels_first")
    turned = to_channels_first(weights, {"dense_1": (7, 7, 64)})
    with torch.no_grad():
        hidden = torch.from_numpy(ready)
        for name in ("conv2d_1", "conv2d_2"):
            kernel = torch.from_numpy(turned[f"{name}/kernel"].transpose(3, 2, 0, 1).copy())
            bias = torch.from_numpy(turned[f"{name}/bias"])
            hidden = torch.nn.functional.conv2d(hidden, kernel, bias, padding=2).tanh()
            hidden = torch.nn.functional.max_pool2d(hidden, 2)
        hidden = hidden.flatten(1).numpy()
    for name in ("dense_1", "dense_2"):
        hidden = np.tanh(hidden @ turned[f"{name}/kernel"] + turned[f"{name}/bias"])

    assert np.asarray(first(ready)) == pytest.approx(expected, abs=1e-4)
    assert hidden == pytest.approx(expected, abs=1e-4)
