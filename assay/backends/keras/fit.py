"""One call of Keras' fit(), timed by a callback: the way of keras-benchmarks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import keras
import numpy as np

from assay.backends import data_parallel
from assay.backends.keras.model import KerasModel
from assay.core.errors import EndingError
from assay.core.records import Samples, Value
from assay.core.sessions import Report


class FitSession:
    """Epochs of one fit(). The first, which traces and compiles, is a phase of its own."""

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
        stamps = _Stamps(data_parallel.one_at_a_time(self._built.case))
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

    def outputs(self) -> Any:  # noqa: ANN401
        return self._built.outputs()

    def weights(self) -> Iterator[Any]:
        return self._built.weights()

    def _report(self, phase: Any, seconds: list[float]) -> Report:  # noqa: ANN401
        values = tuple(length / self._steps for length in seconds)
        return Report(
            Samples(metric="step_time", unit="s", phase=phase, values=values, steps=self._steps)
        )


class _Stamps(keras.callbacks.Callback):  # type: ignore[misc]
    """When each epoch began and ended. Keras makes the logs, and so waits, before the end."""

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
