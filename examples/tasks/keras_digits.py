"""A tiny Keras training on made-up digits; Keras prints its own progress bars."""

from __future__ import annotations

import argparse

import keras
import numpy as np


def digits(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy pictures of ten fixed patterns, so that there is something to learn."""
    shapes = np.random.default_rng(0).random((10, 64), dtype=np.float32)
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, 10, count)
    return shapes[labels] + draw.normal(0, 0.5, (count, 64)).astype(np.float32), labels


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--epochs", type=int, default=2)
    options.add_argument("--batch-size", type=int, default=32)
    asked = options.parse_args()
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.layers.Input((64,)),
            keras.layers.Dense(32, activation="relu"),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(
        *digits(640, seed=1),
        batch_size=asked.batch_size,
        epochs=asked.epochs,
        validation_data=digits(128, seed=2),
        verbose=1,
    )


if __name__ == "__main__":
    main()
