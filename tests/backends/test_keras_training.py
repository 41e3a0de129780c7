"""Parts of a training in Keras: images on the device, first weights, the rate, checkpoints."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.core.errors import EndingError, UsageError
from assay.core.recipe import Augmentation, Recipe
from assay.core.sessions import Examples

pytestmark = pytest.mark.real("keras", "jax")
RECIPE = Recipe(epochs=2, batch_size=4, optimizer="sgd", learning_rate=0.1)


@pytest.fixture(scope="module")
def keras(tmp_path_factory):
    with pytest.MonkeyPatch.context() as world:
        world.setenv("KERAS_BACKEND", "jax")
        world.setenv("KERAS_HOME", str(tmp_path_factory.mktemp("keras")))
        import keras

        yield keras


def examples(count, labels=None):
    random = np.random.default_rng(count)
    labels = np.arange(count) % 3 if labels is None else labels
    return Examples(inputs=random.normal(size=(count, 6, 6, 1)).astype(np.float32), labels=labels)


def network(keras):
    layers = keras.layers
    return keras.Sequential(
        [keras.Input((6, 6, 1)), layers.Flatten(), layers.Dense(4, "tanh"), layers.Dense(3)]
    )


def trainer(keras, recipe=RECIPE, train=None, net=None):
    from assay.backends.keras.train import Trainer

    keras.utils.set_random_seed(0)
    train, test = train or examples(10), examples(4)
    return Trainer(net or network(keras), recipe, train, test, seed=0, jit=True)


def fed(keras, pictures, augmentation, numbers, training):
    from assay.backends.keras.fit import DeviceImages

    layer = DeviceImages(pictures, augmentation, seed=0)
    found = layer(np.asarray(numbers, np.int32), training=training)
    return keras.ops.convert_to_numpy(found)


def test_numbers_become_pictures_unchanged_outside_training(keras):
    pictures = examples(5).inputs

    found = fed(keras, pictures, Augmentation(shift=2, flip=True), [3, 0], training=False)

    assert np.array_equal(found, pictures[[3, 0]])


def test_a_shifted_picture_is_one_of_the_possible_shifts_with_zeros_at_its_edge(keras):
    picture = 1 + np.arange(36, dtype=np.float32).reshape(1, 6, 6, 1)
    padded = np.pad(picture[0], ((1, 1), (1, 1), (0, 0)))
    possible = {padded[r : r + 6, c : c + 6].tobytes() for r in range(3) for c in range(3)}

    found = fed(keras, picture, Augmentation(shift=1), [0] * 200, training=True)

    assert {one.tobytes() for one in found} == possible


def test_about_half_of_the_pictures_are_flipped(keras):
    picture = 1 + np.arange(36, dtype=np.float32).reshape(1, 6, 6, 1)

    found = fed(keras, picture, Augmentation(flip=True), [0] * 400, training=True)

    same = sum(np.array_equal(one, picture[0]) for one in found)
    turned = sum(np.array_equal(one, picture[0, :, ::-1]) for one in found)
    assert same + turned == 400
    assert 150 < same < 250  # five standard deviations of a fair coin


def test_a_rotated_picture_keeps_its_centre_and_moves_the_rest(keras):
    picture = np.zeros((1, 7, 7, 1), np.float32)
    picture[0, 3, 3], picture[0, 3, 0] = 1, 2

    found = fed(keras, picture, Augmentation(rotation=40), [0] * 50, training=True)

    assert (found[:, 3, 3, 0] == 1).all()
    assert len({one.tobytes() for one in found}) > 3


def test_he_weights_have_the_variance_of_their_inputs(keras):
    from assay.backends.keras.train import set_initial_weights

    net = keras.Sequential([keras.Input((400,)), keras.layers.Dense(300)])
    set_initial_weights(net, "he", seed=0)

    kernel, bias = net.get_weights()
    assert kernel.var() == pytest.approx(2 / 400, rel=0.05)
    assert not bias.any()


def test_a_quiet_branch_says_nothing_at_first(keras):
    from assay.backends.keras.train import set_initial_weights

    layers = keras.layers
    inputs = keras.Input((6, 6, 4))
    stem = layers.ReLU()(layers.Conv2D(4, 3, padding="same")(inputs))
    body = layers.Conv2D(4, 3, padding="same")(layers.Conv2D(4, 3, padding="same")(stem))
    shortcut = layers.Conv2D(4, 1)(stem)
    whole = keras.Model(inputs, layers.Add()([body, shortcut]))
    set_initial_weights(whole, "quiet-branches", seed=0)

    outputs = keras.Model(inputs, [whole.outputs[0], shortcut])(np.ones((1, 6, 6, 4), np.float32))
    first, second = map(keras.ops.convert_to_numpy, outputs)
    assert np.abs(second).max() > 0
    assert np.array_equal(first, second)


def test_the_rate_warms_up_and_falls_to_zero(keras):
    from assay.backends.keras.train import optimizer

    made = optimizer(Recipe(epochs=10, batch_size=1, optimizer="adam", learning_rate=0.5), steps=20)
    schedule = made._learning_rate

    assert float(schedule(0)) == 0
    assert float(schedule(20)) == pytest.approx(0.5)
    assert float(schedule(110)) == pytest.approx(0.25)
    assert float(schedule(200)) == pytest.approx(0, abs=1e-7)


def test_training_lowers_the_loss_and_tests_after_every_epoch(keras):
    train = examples(12)
    train.inputs[range(12), 0, train.labels] += 5
    taught = trainer(keras, Recipe(epochs=4, batch_size=4, optimizer="sgd", learning_rate=1), train)

    told = [taught.epoch() for _ in range(4)]

    assert told[-1]["loss"] < told[0]["loss"] / 2
    assert all(0 <= one["epoch_accuracy"] <= 100 for one in told)
    assert all(one["epoch_time"] > 0 for one in told)


def test_epochs_are_compiled_once(keras):
    taught = trainer(keras)
    taught.epoch()
    traced = []
    taught.model.layers[-1].call = traced.append  # Keras calls it when it traces, and only then
    taught.epoch()

    assert not traced


def test_a_training_taken_up_again_ends_as_one_that_was_not_cut(keras, tmp_path):
    from assay.backends.keras import train

    whole, cut = trainer(keras), trainer(keras)
    cut.epoch()
    train.write(tmp_path / "c.npz", cut.model, cut.history)
    again = trainer(keras)
    again.history = train.read(tmp_path / "c.npz", again.model)
    for _ in range(2):
        whole.epoch()
    again.epoch()

    for one, other in zip(whole.network.get_weights(), again.network.get_weights(), strict=True):
        assert np.allclose(one, other, rtol=1e-5, atol=1e-6)


def test_a_checkpoint_of_another_network_is_refused(keras, tmp_path):
    from assay.backends.keras import train

    other = keras.Sequential(
        [keras.Input((6, 6, 1)), keras.layers.Flatten(), keras.layers.Dense(3)]
    )
    train.write(tmp_path / "c.npz", trainer(keras, net=other).model, [])

    with pytest.raises(UsageError, match="another training"):
        train.read(tmp_path / "c.npz", trainer(keras).model)


def test_a_label_the_network_has_no_class_for_is_named(keras):
    with pytest.raises(EndingError, match="label 7 is out of range: the network has 3 classes"):
        trainer(keras, train=examples(4, np.array([0, 7, 1, 2])))


def test_every_picture_is_seen_in_every_epoch(keras):
    taught = trainer(keras)

    numbers = taught._order()

    assert set(numbers) == set(range(10))
    assert len(numbers) == 12 == math.ceil(10 / 4) * 4


def test_a_checkpoint_lies_there_until_the_training_has_ended(keras, tmp_path, monkeypatch):
    from assay.backends.keras import train as _train

    monkeypatch.setattr(_train, "CHECKPOINT_PERIOD", -1.0)
    kept = tmp_path / "checkpoint.npz"
    told = [
        (report.samples.metric, report.samples.phase, kept.exists())
        for report in _train.train(trainer(keras), 0.0, kept, None)
    ]

    times = [one[1:] for one in told if one[0] == "epoch_time"]
    assert times == [("first", False), ("steady", True)]
    assert not kept.exists()


def test_a_loss_that_is_no_number_ends_the_training(keras, tmp_path):
    from assay.backends.keras.train import train

    wild = Recipe(epochs=4, batch_size=4, optimizer="sgd", learning_rate=1e38, warmup=0)

    with pytest.raises(EndingError, match="lower the learning rate"):
        list(train(trainer(keras, wild), 0.0, tmp_path / "checkpoint.npz", None))
