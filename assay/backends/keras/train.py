"""Train a Keras model by a recipe: one fit() per epoch, on any engine, traced once."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np

from assay.backends import options
from assay.backends.keras.fit import DeviceImages
from assay.backends.keras.model import KerasModel, ends_in_softmax
from assay.core.errors import AssayError, EndingError, UsageError
from assay.core.files import atomic_path
from assay.core.messages import Train
from assay.core.recipe import Initial, Recipe
from assay.core.records import Phase, Samples, Value
from assay.core.sessions import Examples, Report
from assay.weights import keras as _keras

TEST_BATCH = 500  # divides the 5000 images, so that only one shape is compiled
CHECKPOINT_PERIOD = 30.0  # seconds between two checkpoints, each of which takes about one
UNITS = {"epoch_time": "s", "loss": "", "train_accuracy": "%", "epoch_accuracy": "%"}


class Trainer:
    """A network with its images on the device, and the history of its epochs."""

    def __init__(
        self,
        network: Any,
        recipe: Recipe,
        train: Examples,
        test: Examples,
        seed: int,
        jit: bool,
    ) -> None:
        self.network, self.recipe, self._seed = network, recipe, seed
        self.history: list[dict[str, float]] = []  # reports of every epoch
        self._train, self._tested = len(train.labels), len(test.labels)
        set_initial_weights(network, recipe.initial, seed)
        self.model = _add_input_pipeline(network, recipe, train, test, seed)
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
        """One pass over the training images, then the test."""
        numbers = self._order()
        start = time.perf_counter()
        history = self.model.fit(
            numbers,
            self._classes[numbers],
            batch_size=self.recipe.batch_size,
            shuffle=False,  # shuffled already: by seed and epoch, equally on every engine
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
        metrics = self.model.evaluate(
            numbers,
            self._classes[numbers],
            batch_size=TEST_BATCH,
            verbose=0,
            return_dict=True,
        )
        return float(100 * metrics["categorical_accuracy"])

    def _order(self) -> Any:
        """All images, some twice: a last batch of another size would have to be compiled."""
        random = np.random.default_rng([self._seed, 3, len(self.history)])
        numbers = random.permutation(self._train).astype(np.int32)
        return np.resize(numbers, self._steps * self.recipe.batch_size)


def train(
    trainer: Trainer, until: float, checkpoint: Path, earlier: Path | None
) -> Iterator[Report]:
    """Every epoch's time, loss and accuracies, as they come, with checkpoints.

    An interrupted training continues from its checkpoint, and reports its earlier epochs again.
    """
    if earlier:
        trainer.history = read(earlier, trainer.model)
    for number, answer in enumerate(trainer.history):
        yield from _reports(answer, first=number == 0)
    last = time.monotonic()
    while len(trainer.history) < trainer.recipe.epochs and not _is_target_reached(trainer, until):
        answer = trainer.epoch()
        yield from _reports(answer, first=len(trainer.history) == 1)
        if not np.isfinite(answer["loss"]):
            raise EndingError("failed", f"a loss of {answer['loss']}: lower the learning rate")
        if time.monotonic() - last > CHECKPOINT_PERIOD:
            write(checkpoint, trainer.model, trainer.history)
            last = time.monotonic()
    for path in filter(None, (checkpoint, earlier)):
        path.unlink(missing_ok=True)


def optimizer(recipe: Recipe, steps: int) -> Any:
    """With linear warm-up and cosine decay of the rate, computed in the step."""
    total = steps * recipe.epochs
    warmup = round(steps * min(recipe.warmup, recipe.epochs / 5))
    rate = keras.optimizers.schedules.CosineDecay(
        initial_learning_rate=0.0 if warmup else recipe.learning_rate,
        decay_steps=max(1, total - warmup),
        warmup_target=recipe.learning_rate if warmup else None,
        warmup_steps=warmup,
    )
    common = {
        "learning_rate": rate,
        "weight_decay": recipe.weight_decay or None,
        "global_clipnorm": recipe.clip or None,
    }
    keras_optimizer = {
        "adam": lambda: keras.optimizers.Adam(**common),
        "sgd": lambda: keras.optimizers.SGD(**common, momentum=recipe.momentum, nesterov=True),
    }[recipe.optimizer]()
    if recipe.weight_decay:
        keras_optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    return keras_optimizer


def _add_input_pipeline(
    network: Any, recipe: Recipe, train: Examples, test: Examples, seed: int
) -> Any:
    images = np.concatenate([train.ready(train.inputs), test.ready(test.inputs)])
    numbers = keras.Input((), dtype="int32")
    values = DeviceImages(images, recipe.augmentation, seed)(numbers)
    if network.input_shape[1:] != images.shape[1:]:
        values = keras.layers.Permute((3, 1, 2))(values)  # channels first
    return keras.Model(numbers, network(values))


def _one_hot(network: Any, labels: Any) -> Any:
    count = network.output_shape[-1]
    wrong = (labels < 0) | (labels >= count)
    if wrong.any():
        raise EndingError(
            "failed",
            f"label {labels[wrong.argmax()]} is out of range: the network has {count} classes, "
            f"0 to {count - 1}",
        )
    return np.eye(count, dtype=np.float32)[labels]


def _is_target_reached(trainer: Trainer, until: float) -> bool:
    return bool(until and trainer.history and trainer.history[-1]["epoch_accuracy"] >= until)


def _reports(answer: dict[str, float], first: bool = False) -> Iterator[Report]:
    """The first epoch's time, which includes tracing and compiling, is a separate phase."""
    for metric, unit in UNITS.items():
        phase: Phase = "first" if first and metric == "epoch_time" else "steady"
        yield Report(Samples(metric=metric, unit=unit, phase=phase, values=(answer[metric],)))


History = list[dict[str, float]]  # reports of every epoch


def write(path: Path, model: Any, history: History) -> None:
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, history=json.dumps(history), **_values(model))


def read(path: Path, model: Any) -> History:
    """Restore the state of a compiled model; returns the reports of its epochs."""
    with np.load(path, allow_pickle=False) as arrays:
        model.optimizer.build(model.trainable_variables)
        variables = _variables(model)
        if any(
            name not in arrays or arrays[name].shape != tuple(variable.shape)
            for name, variable in variables.items()
        ):
            raise UsageError(
                f"{path} is the checkpoint of another training.", hint="Start it again."
            )
        for name, variable in variables.items():
            variable.assign(arrays[name])
        history: History = json.loads(str(arrays["history"]))
        return history


def _values(model: Any) -> dict[str, Any]:
    import keras

    return {name: keras.ops.convert_to_numpy(own) for name, own in _variables(model).items()}


def _variables(model: Any) -> dict[str, Any]:
    """Of the network and the optimizer, without the images."""
    network = [own for own in model.variables if own.name != "pictures"]
    state = [*network, *model.optimizer.variables]
    return {f"v{number}": own for number, own in enumerate(state)}


def set_initial_weights(model: Any, initial: Initial, seed: int) -> None:
    """He et al. (2015): normal, with a variance of 2 / fan-in; biases 0.

    Dropout before a layer scales its inputs up in training, so its weights are scaled down here:
    otherwise eight dropouts would make the first loss of VGG16 five times that of guessing.

    Fixup (Zhang et al., 2019) for branches of two convolutions: the last is 0 and the first is
    divided by the square root of their number, so that the branches are 0 at first.
    """
    if initial == "own":
        return
    random = np.random.default_rng([seed, 2])
    branches = _branches(model) if initial == "quiet-branches" else []
    scales = {id(last): 0.0 for _, last in branches}
    scales |= {id(first): 1 / math.sqrt(len(branches)) for first, _ in branches}
    share = 1.0  # of the inputs of the next layer that dropout keeps
    for layer in model.layers:
        if isinstance(layer, keras.layers.Dropout):
            share *= 1 - layer.rate
        elif isinstance(layer, keras.layers.Conv2D | keras.layers.Dense):
            kernel, *bias = layer.get_weights()
            deviation = math.sqrt(2 * share / math.prod(kernel.shape[:-1])) * scales.get(
                id(layer), 1.0
            )
            share = 1.0
            drawn = deviation * random.standard_normal(kernel.shape, dtype=np.float32)
            layer.set_weights([drawn, *map(np.zeros_like, bias)])


def _branches(model: Any) -> list[tuple[Any, Any]]:
    """First and last convolution of each residual branch, without 1x1 shortcuts."""
    branches = []
    for layer in model.layers:
        if isinstance(layer, keras.layers.Add):
            chains = [_convolutions(tensor) for tensor in layer.input]
            branches += [(chain[-1], chain[0]) for chain in chains if len(chain) > 1]
    return branches


def _convolutions(tensor: Any) -> list[Any]:
    """Those before a tensor, the last first, back to the fork."""
    convolutions = []
    layer = tensor._keras_history.operation
    while len(layer._outbound_nodes) == 1:
        if isinstance(layer, keras.layers.Conv2D):
            convolutions.append(layer)
        layer = layer.input._keras_history.operation
    return convolutions


TrainingRun = Generator[Report, None, Any]  # yields reports, returns the trained model


def train_model(built: KerasModel, request: Train) -> TrainingRun:
    training = request.training
    model = yield from (
        _train_by_recipe(built, training.recipe, request)
        if training.recipe
        else _train_with_own_method(built)
    )
    # a benchmark class may define the path of its weights
    chosen = str(built.job.facts.get(training.save, training.save))
    _keras.save(model, request.weights)
    built.saved = _save_weights(model, chosen) if chosen else {}
    return model


def _save_weights(model: Any, path: str) -> dict[str, Value]:
    """Facts of a requested weights file; a full disk must not lose the accuracy."""
    try:
        _keras.save(model, path)
    except (AssayError, ImportError, OSError, ValueError) as error:  # what Keras and h5py raise
        return {"save_problem": f"{path} was not written ({error})"}
    return {"weights_saved": path}


def _train_by_recipe(built: KerasModel, recipe: Recipe, request: Train) -> TrainingRun:
    if built.job.eval_data is None:
        raise EndingError("skipped", f"{built.case.workload} has no data to be trained on")
    trainer = Trainer(
        built.model,
        recipe,
        built.job.eval_data("train", request.training.first),
        built.job.eval_data("test", 0),
        seed=options.seed(built.case),
        jit=built.case.options["compiler"] == "on",
    )
    earlier = Path(request.earlier) if request.earlier else None
    yield from train(trainer, request.training.until, Path(request.checkpoint), earlier)
    return built.model


def _train_with_own_method(built: KerasModel) -> TrainingRun:
    """Its own method is timed as a whole: only it knows its epochs."""
    if built.job.train is None:
        raise EndingError("failed", f"{built.case.workload} does not train itself: give a recipe")
    start = time.perf_counter()
    model = built.job.train(built.model)
    seconds = time.perf_counter() - start
    yield Report(Samples(metric="train_time", unit="s", phase="steady", values=(seconds,)))
    return model
