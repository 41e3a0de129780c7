"""A benchmark class with HPVM's names, as its Keras frontend takes them.

    assay run examples/hpvm_benchmark.py:TinyNet_CIFAR10 -b keras-torch
    assay hpvm examples/hpvm_benchmark.py:TinyNet_CIFAR10 train keras_dump

What changes against a class for HPVM: Keras 3's imports, and no call of exportToHPVM at the end.
"""

import os

import keras
import numpy as np
from keras.layers import Activation, Conv2D, Dense, Flatten, MaxPooling2D

from assay.compat.hpvm_class import Benchmark  # HPVM's own does too, and so does no base


class TinyNet_CIFAR10(Benchmark):
    """Two convolutions for CIFAR-10."""

    # What HPVM's scripts give to the constructor. They may be attributes, as here, or
    # variables of the module.
    NAME = "TinyNet_CIFAR10"
    reload_dir = "tinynet_bins"  # hpvm_reload reads this folder of .bin weights
    keras_model_file = "tinynet.h5"  # keras_reload reads this file, and keras_dump writes it
    data_dir = "data/tinynet"  # for the frontend: where weights and inputs go
    src_dir = "src/tinynet_src"  # and the sources
    num_classes = 10
    batch_size = 100

    def buildModel(self):
        """Needed: the model, channels first, which ends in a softmax of its own."""
        return keras.Sequential(
            [
                keras.Input((3, 32, 32)),
                Conv2D(8, (3, 3), padding="same", activation="tanh"),
                MaxPooling2D(pool_size=(4, 4)),
                Conv2D(16, (3, 3), padding="same", activation="tanh"),
                MaxPooling2D(pool_size=(2, 2)),
                Flatten(),
                Dense(self.num_classes),
                Activation("softmax"),
            ]
        )

    def data_preprocess(self):
        """Needed: six arrays in this order. Pictures are float32 with channels first."""
        with np.load(os.path.join(os.environ["ASSAY_DATA"], "cifar10.npz")) as file:
            X_train, X_test = (
                file[key].transpose(0, 3, 1, 2).astype("float32") / 255
                for key in ("x_train", "x_test")
            )
            y_train, y_test = file["y_train"], file["y_test"]
        half = len(X_test) // 2
        return X_train, y_train, X_test[:half], y_test[:half], X_test[half:], y_test[half:]

    def trainModel(self, model, X_train, y_train, X_test, y_test):
        """For `train`: returns the trained model."""
        model.compile("adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
        model.fit(X_train, y_train, batch_size=50, epochs=2, verbose=2)
        return model
