"""A benchmark of one's own: a model, its data and its training in one class.

assay run examples/my_benchmark.py:Digits -b keras-jax
assay train examples/my_benchmark.py:Digits@keras-jax --save digits.npz
assay evaluate examples/my_benchmark.py:Digits@keras-jax --weights digits.npz
"""

import os

import keras
import numpy as np


class Digits:
    """A small network for handwritten digits."""

    # What others should know of it. All of these may be left out.
    num_classes = 10  # labels are checked against it
    batch_size = 50  # of a step, when its speed is measured
    expected = 30.0  # percent of the test pictures: `train` and `evaluate` pass or fail by it

    def build_model(self):
        """Needed: a Keras model. It may end in a softmax or without one."""
        return keras.Sequential(
            [
                keras.Input((28, 28, 1)),
                keras.layers.Conv2D(8, 5, strides=2, activation="relu"),
                keras.layers.Flatten(),
                keras.layers.Dense(self.num_classes),
            ]
        )

    def load_data(self):
        """Needed: (x_train, y_train), (x_test, y_test), as keras.datasets has them, ready to be
        used, channels last; a third pair, for tuning, if there is one."""
        with np.load(os.path.join(os.environ["ASSAY_DATA"], "mnist.npz")) as file:
            pictures = {part: file[f"x_{part}"][..., None] / 255 for part in ("train", "test")}
            return [(pictures[part], file[f"y_{part}"]) for part in ("train", "test")]

    def train(self, model, x_train, y_train, x_test, y_test):
        """May be left out: then `assay train --recipe lenet` trains it by that recipe."""
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(0.003), loss)
        model.fit(x_train, y_train, batch_size=50, epochs=5, verbose=2)
        return model
