"""A model of one's own: `assay run examples/my.py:MyNet -b keras-jax --set units=64,128`."""

import keras


def MyNet(units=64):
    """Two dense layers."""
    return keras.Sequential(
        [keras.Input((784,)), keras.layers.Dense(units, "relu"), keras.layers.Dense(10)]
    )
