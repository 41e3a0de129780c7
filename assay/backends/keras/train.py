"""Training a Keras model by a recipe: one fit() an epoch, on any engine, traced once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np

from assay.backends.keras import fold_backends_keras_checkpoint, fold_backends_keras_start
from assay.backends.keras.fold_backends_keras_feed import DevicePictures
from assay.backends.keras.model import ends_in_softmax
from assay.core.errors import EndingError
from assay.core.recipe import Recipe
from assay.core.records import Phase, Samples
from assay.core.sessions import Examples, Report

TESTED_AT_ONCE = 500  # of the 5000 pictures: they are whole batches, so one shape is compiled
KEEP_EVERY = 30.0  # seconds between two checkpoints, which cost about one
UNITS = {"epoch_time": "s", "loss": "", "train_accuracy": "%", "epoch_accuracy": "%"}


class Trainer:
    """A network with its pictures on the device, and how far it has come."""

    def __init__(
        self,
        network: Any,  # noqa: ANN401 (a keras.Model)
        recipe: Recipe,
        train: Examples,
        test: Examples,
        seed: int,
        jit: bool,
    ) -> None:
        self.network, self.recipe, self._seed = network, recipe, seed
        self.history: list[dict[str, float]] = []  # what every epoch told
        self._train, self._tested = len(train.labels), len(test.labels)
        fold_backends_keras_start.set_initial_weights(network, recipe.initial, seed)
        self.model = _fed(network, recipe, train, test, seed)
        self._classes = _one_hot(network, np.concatenate([train.labels, test.labels]))
        self.model.compile(
            optimizer=optimizer(recipe, self._steps),
            loss=keras.losses.CategoricalCrossentropy(
                from_logits=not ends_in_softmax(network), label_smoothing=recipe.label_smoothing
            ),
            metrics=["categorical_accuracy"],
            jit_compile=jit,
        )

    @property
    def _steps(self) -> int:
        return -(-self._train // self.recipe.batch_size)

    def epoch(self) -> dict[str, float]:
        """One pass over the training pictures, then the test."""
        numbers = self._order()
        start = time.perf_counter()
        history = self.model.fit(
            numbers,
            self._classes[numbers],
            batch_size=self.recipe.batch_size,
            shuffle=False,  # they are: by the seed and the epoch, alike on every engine
            verbose=0,
        ).history  # numbers on the host: the device has ended
        seconds = time.perf_counter() - start
        answer = {
            "epoch_time": seconds,
            "loss": history["loss"][0],
            "train_accuracy": 100 * history["categorical_accuracy"][0],
            "epoch_accuracy": self._accuracy(),
        }
        self.history.append(answer)
        return answer

    def _accuracy(self) -> float:
        numbers = np.arange(self._train, self._train + self._tested, dtype=np.int32)
        found = self.model.evaluate(
            numbers,
            self._classes[numbers],
            batch_size=TESTED_AT_ONCE,
            verbose=0,
            return_dict=True,
        )
        return float(100 * found["categorical_accuracy"])

    def _order(self) -> Any:  # noqa: ANN401 (numpy)
        """All pictures, and some twice: a last batch of another size would be compiled apart."""
        random = np.random.default_rng([self._seed, 3, len(self.history)])
        numbers = random.permutation(self._train).astype(np.int32)
        return np.resize(numbers, self._steps * self.recipe.batch_size)


def train(trainer: Trainer, until: float, kept: Path, earlier: Path | None) -> Iterator[Report]:
    """Every epoch's time, loss and accuracies, as they come; a checkpoint now and then.

    One that was cut short goes on from its checkpoint, and tells again what it told before.
    """
    if earlier:
        trainer.history = fold_backends_keras_checkpoint.read(earlier, trainer.model)
    for number, answer in enumerate(trainer.history):
        yield from _reports(answer, first=number == 0)
    last = time.monotonic()
    while len(trainer.history) < trainer.recipe.epochs and not _reached(trainer, until):
        answer = trainer.epoch()
        yield from _reports(answer, first=len(trainer.history) == 1)
        if not np.isfinite(answer["loss"]):
            raise EndingError("failed", f"a loss of {answer['loss']}: lower the learning rate")
        if time.monotonic() - last > KEEP_EVERY:
            fold_backends_keras_checkpoint.write(kept, trainer.model, trainer.history)
            last = time.monotonic()
    for path in filter(None, (kept, earlier)):
        path.unlink(missing_ok=True)


def optimizer(recipe: Recipe, steps: int) -> Any:  # noqa: ANN401
    """With a rate that warms up and then falls along a cosine, computed in the step itself."""
    whole = steps * recipe.epochs
    warmup = round(steps * min(recipe.warmup, recipe.epochs / 5))
    rate = keras.optimizers.schedules.CosineDecay(
        initial_learning_rate=0.0 if warmup else recipe.learning_rate,
        decay_steps=max(1, whole - warmup),
        warmup_target=recipe.learning_rate if warmup else None,
        warmup_steps=warmup,
    )
    common = {
        "learning_rate": rate,
        "weight_decay": recipe.weight_decay or None,
        "global_clipnorm": recipe.clip or None,
    }
    made = {
        "adam": lambda: keras.optimizers.Adam(**common),
        "sgd": lambda: keras.optimizers.SGD(**common, momentum=recipe.momentum, nesterov=True),
    }[recipe.optimizer]()
    if recipe.weight_decay:
        made.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    return made


def _fed(network: Any, recipe: Recipe, train: Examples, test: Examples, seed: int) -> Any:  # noqa: ANN401
    pictures = np.concatenate([train.ready(train.inputs), test.ready(test.inputs)])
    numbers = keras.Input((), dtype="int32")
    values = DevicePictures(pictures, recipe.augmentation, seed)(numbers)
    if network.input_shape[1:] != pictures.shape[1:]:
        values = keras.layers.Permute((3, 1, 2))(values)  # channels first
    return keras.Model(numbers, network(values))


def _one_hot(network: Any, labels: Any) -> Any:  # noqa: ANN401
    count = network.output_shape[-1]
    wrong = (labels < 0) | (labels >= count)
    if wrong.any():
        raise EndingError(
            "failed",
            f"label {labels[wrong.argmax()]} is out of range: the network tells {count} classes, "
            f"0 to {count - 1}",
        )
    return np.eye(count, dtype=np.float32)[labels]


def _reached(trainer: Trainer, until: float) -> bool:
    return bool(until and trainer.history and trainer.history[-1]["epoch_accuracy"] >= until)


def _reports(answer: dict[str, float], first: bool = False) -> Iterator[Report]:
    """The first epoch's time, with tracing and compiling in it, is a phase of its own."""
    for metric, unit in UNITS.items():
        phase: Phase = "first" if first and metric == "epoch_time" else "steady"
        yield Report(Samples(metric=metric, unit=unit, phase=phase, values=(answer[metric],)))
