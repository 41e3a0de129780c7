"""One call of Keras' fit(), timed by a callback, as in keras-benchmarks."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from typing import Any

import keras
import numpy as np
from keras import ops

from assay.backends import data_parallel
from assay.backends.keras.model import KerasModel
from assay.core.errors import EndingError
from assay.core.recipe import Augmentation
from assay.core.records import Samples, Value
from assay.core.sessions import Report


class FitSession:
    """Epochs of one fit(). The first, which traces and compiles, is a separate phase."""

    def __init__(self, built: KerasModel) -> None:
        if not built.train:
            raise EndingError(
                "skipped", f"fit() trains, and {built.case.workload} only infers here"
            )
        self._built = built
        self._epochs = int(built.case.options["epochs"])
        examples = int(built.case.options["examples"])
        self.items, self._rows = built.items, len(built.targets)
        self._steps = -(-examples // self._rows)
        rows = np.arange(examples) % self._rows
        self._inputs, self._targets = keras.tree.map_structure(
            lambda array: array[rows], (built.inputs, built.targets)
        )

    def run(self) -> Iterator[Report]:
        stamps = _Stamps(data_parallel.is_serialized(self._built.case))
        self._built.model.fit(
            self._inputs,
            self._targets,
            batch_size=self._rows,
            epochs=self._epochs,
            shuffle=False,
            verbose=0,
            callbacks=[stamps],
        )
        first, *later = (end - start for start, end in stamps.epochs)
        yield self._report("first", [first])
        if later:
            yield self._report("steady", later)

    def facts(self) -> Mapping[str, Value]:
        return {**self._built.facts(), "examples": len(self._targets)}

    def outputs(self) -> Any:
        return self._built.outputs()

    def weights(self) -> Iterator[Any]:
        return self._built.weights()

    def _report(self, phase: Any, seconds: list[float]) -> Report:
        values = tuple(length / self._steps for length in seconds)
        return Report(
            Samples(metric="step_time", unit="s", phase=phase, values=values, steps=self._steps)
        )


class _Stamps(keras.callbacks.Callback):  # type: ignore[misc]
    """Start and end of each epoch. Keras computes the logs, and so waits, before the end."""

    def __init__(self, one_at_a_time: bool) -> None:
        super().__init__()
        self._one_at_a_time = one_at_a_time
        self.epochs: list[tuple[float, float]] = []

    def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
        self._start = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        if self._one_at_a_time:
            float((logs or {}).get("loss", 0))  # on the host: the step has ended

    def on_epoch_end(self, epoch: int, logs: object = None) -> None:
        self.epochs.append((self._start, time.perf_counter()))


# Images that stay on the device: a batch is their indices, and the compiled step augments them. So
# an epoch moves a few bytes per image, and augmentation costs no host time.


class DeviceImages(keras.layers.Layer):  # type: ignore[misc]
    """Indices → images; in training each is randomly shifted, rotated and flipped."""

    def __init__(self, images: Any, augmentation: Augmentation, seed: int) -> None:
        super().__init__(trainable=False, dtype="float32")
        self._augmentation = augmentation
        self._seeds = keras.random.SeedGenerator(seed)
        self._images = self.add_weight(
            name="pictures",
            shape=images.shape,
            dtype=str(images.dtype),
            initializer="zeros",
            trainable=False,
        )
        self._images.assign(images)

    def call(self, numbers: Any, training: bool = False) -> Any:
        if training and self._augmentation != Augmentation():
            return self._augment(numbers)
        return ops.cast(ops.take(self._images, numbers, axis=0), self.compute_dtype)

    def compute_output_spec(self, numbers: Any, training: bool = False) -> Any:
        shape = (*numbers.shape, *self._images.shape[1:])
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def _augment(self, numbers: Any) -> Any:
        """One gather of the source of every pixel; pixels from outside are 0."""
        _, height, width, channels = self._images.shape
        rows, columns = self._sources(ops.shape(numbers)[0], height, width)
        inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
        rows, columns = ops.clip(rows, 0, height - 1), ops.clip(columns, 0, width - 1)
        places = (numbers[:, None, None] * height + rows) * width + columns
        pixels = ops.reshape(self._images, (-1, channels))
        values = ops.cast(ops.take(pixels, places, axis=0), self.compute_dtype)
        return ops.where(inside[..., None], values, 0.0)

    def _sources(self, count: Any, height: int, width: int) -> tuple[Any, Any]:
        """Source row and column of each pixel of each image."""
        change = self._augmentation
        rows, columns = (
            _centered_range(height)[None, :, None],
            _centered_range(width)[None, None, :],
        )
        if change.flip:
            columns = columns * (2.0 * self._draw(count, 0, 2) - 1.0)
        if change.rotation:
            angle = self._angle(count)
            rows, columns = (
                ops.cos(angle) * rows - ops.sin(angle) * columns,
                ops.sin(angle) * rows + ops.cos(angle) * columns,
            )
        down = self._draw(count, -change.shift, change.shift + 1)
        right = self._draw(count, -change.shift, change.shift + 1)
        return (
            ops.cast(ops.round(rows + down + (height - 1) / 2), "int32"),
            ops.cast(ops.round(columns + right + (width - 1) / 2), "int32"),
        )

    def _draw(self, count: Any, low: int, high: int) -> Any:
        drawn = keras.random.randint((count, 1, 1), low, high, seed=self._seeds)
        return ops.cast(drawn, "float32")

    def _angle(self, count: Any) -> Any:
        most = math.radians(self._augmentation.rotation)
        return keras.random.uniform((count, 1, 1), -most, most, seed=self._seeds)


def _centered_range(length: int) -> Any:
    return ops.arange(length, dtype="float32") - (length - 1) / 2
