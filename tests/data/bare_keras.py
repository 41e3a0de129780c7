"""Keras models of one's own, as users write them."""

import keras
import numpy as np


class Subclassed(keras.Model):
    """A layer and a model with calls of their own; the call is not told whether it trains."""

    def __init__(self, units=6):
        super().__init__()
        self.wide, self.head = keras.layers.Dense(units, "gelu"), keras.layers.Dense(3)

    def call(self, values):
        return self.head(self.wide(values) * 2.0)


Subclassed.example = np.linspace(-1, 1, 20, dtype="float32").reshape(4, 5)


class Without(keras.Model):
    def call(self, values):
        return values


def Several():
    """Tokens and numbers, by their places."""
    tokens, numbers = keras.Input((4,), dtype="int32"), keras.Input((5,))
    looked_up = keras.layers.Flatten()(keras.layers.Embedding(9, 2)(tokens))
    both = keras.layers.Concatenate()([looked_up, numbers])
    return keras.Model([tokens, numbers], keras.layers.Dense(3)(both))


def Named():
    """Two inputs by their names, and an output for each row of each item."""
    left, right = keras.Input((4, 5), name="left"), keras.Input((4, 5), name="right")
    added = keras.layers.Add()([left, right])
    return keras.Model({"left": left, "right": right}, keras.layers.Dense(3)(added))
