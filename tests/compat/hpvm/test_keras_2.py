"""Arguments of Keras 2 keep their meaning: rates, and changed images."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError

pytestmark = pytest.mark.real("keras", "jax", "scipy")


@pytest.fixture
def generator(keras):
    from assay.compat.hpvm.keras_images import ImageDataGenerator

    return lambda **kwargs: ImageDataGenerator(data_format="channels_first", **kwargs)


def images(count=6, size=8):
    return np.random.default_rng(0).normal(3, 2, (count, 3, size, size)).astype(np.float32)


def test_lr_and_decay_give_the_rates_of_keras_2(keras):
    from assay.compat.hpvm.keras_2 import _accept_old_arguments

    optimizer = _accept_old_arguments(keras.optimizers.SGD)(lr=0.5, decay=0.1)
    variable = keras.Variable(np.zeros(1, np.float32))

    steps = []
    for _ in range(3):
        before = keras.ops.convert_to_numpy(variable)
        optimizer.apply([keras.ops.ones(1)], [variable])
        steps.append(float((before - keras.ops.convert_to_numpy(variable))[0]))

    np.testing.assert_allclose(steps, [0.5, 0.5 / 1.1, 0.5 / 1.2], rtol=1e-6)
    optimizer.learning_rate = 0.2  # what LearningRateScheduler does
    before = keras.ops.convert_to_numpy(variable)
    optimizer.apply([keras.ops.ones(1)], [variable])
    np.testing.assert_allclose(before - keras.ops.convert_to_numpy(variable), 0.2 / 1.3, rtol=1e-5)
    plain = _accept_old_arguments(keras.optimizers.Adam)(0.25)
    assert float(plain.learning_rate) == 0.25


def test_without_arguments_images_come_as_they_are_and_each_once(generator):
    given = images()

    batches = generator().flow(given, np.arange(6), batch_size=4, shuffle=True, seed=3)

    parts = [batches[index] for index in range(len(batches))]
    order = np.concatenate([labels for _, labels in parts])
    assert [len(part) for part, _ in parts] == [4, 2] and sorted(order) == [*range(6)]
    np.testing.assert_array_equal(np.concatenate([part for part, _ in parts]), given[order])
    first = order.copy()
    batches.on_epoch_end()
    again = np.concatenate([batches[index][1] for index in range(2)])
    assert sorted(again) == [*range(6)] and not np.array_equal(again, first)


def test_flips_are_of_the_axes_and_of_about_half_of_the_images(generator):
    given = images(200, 4)

    (left_right,) = generator(horizontal_flip=True).flow(given, batch_size=200, shuffle=False)
    (up_down,) = generator(vertical_flip=True).flow(given, batch_size=200, shuffle=False)

    for changed, axis in ((left_right, 2), (up_down, 1)):
        flipped = [np.array_equal(a, np.flip(b, axis)) for a, b in zip(changed, given, strict=True)]
        same = [np.array_equal(a, b) for a, b in zip(changed, given, strict=True)]
        assert all(a or b for a, b in zip(flipped, same, strict=True))
        assert 60 < sum(flipped) < 140  # 5 standard deviations around 100


def test_a_shift_of_whole_pixels_moves_rows_or_columns_and_repeats_the_border(generator):
    image = images(1, 8)[0]

    class Fixed:
        """A generator whose uniform numbers are all the largest."""

        def uniform(self, low, high, size=None):
            return high if size is None else np.full(size, high)

    for argument, axis in (("width_shift_range", 2), ("height_shift_range", 1)):
        changed = generator(**{argument: 0.25})
        moved = changed._transform(np.moveaxis(image, 0, -1), Fixed())
        expected = np.roll(image, -2, axis)
        last = np.take(image, [-1, -1], axis)
        expected = np.concatenate([np.take(expected, range(6), axis), last], axis)
        np.testing.assert_allclose(np.moveaxis(moved, -1, 0), expected, atol=1e-5)


def test_normalizing_by_training_images_needs_them(generator):
    given = images(50)
    normal = generator(featurewise_center=True, featurewise_std_normalization=True)

    with pytest.raises(UsageError, match="has seen none"):
        normal.standardize(given[0])
    normal.fit(given)
    (changed,) = normal.flow(given, batch_size=50, shuffle=False)

    np.testing.assert_allclose(changed.mean(axis=(0, 2, 3)), 0, atol=1e-4)
    np.testing.assert_allclose(changed.std(axis=(0, 2, 3)), 1, atol=1e-3)
    one = generator(samplewise_center=True, samplewise_std_normalization=True)
    single = one.standardize(given[0])
    assert abs(single.mean()) < 1e-5 and abs(single.std() - 1) < 1e-4


def test_whitened_images_have_uncorrelated_pixels(generator):
    given = images(400, 2)
    white = generator(zca_whitening=True, zca_epsilon=1e-9)

    white.fit(given)
    (changed,) = white.flow(given, batch_size=400, shuffle=False)

    flat = changed.reshape(400, -1)
    np.testing.assert_allclose(flat.T @ flat / 400, np.eye(12), atol=1e-3)


def test_arrays_of_other_shapes_or_lengths_are_refused(generator):
    with pytest.raises(UsageError, match=r"shape \(3, 8, 8\)"):
        generator().fit(images()[0])
    with pytest.raises(UsageError, match="6 and 5 items"):
        generator().flow(images(), np.arange(5))
