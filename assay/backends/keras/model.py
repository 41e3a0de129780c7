"""Shared by the three engines: a compiled Keras model, its batch, its facts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import keras
import numpy as np

from assay.backends import options
from assay.backends.keras import engines
from assay.core.errors import UsageError
from assay.core.messages import Train
from assay.core.records import Case, Value
from assay.core.sessions import Job, Report

_POLICIES = {
    "float32": "float32",
    "tf32": "float32",
    "bfloat16": "mixed_bfloat16",
    "float16": "mixed_float16",
    "pure-bfloat16": "bfloat16",
}


class KerasModel:
    """The compiled model of a job, with its batch as numpy arrays in the case's layout."""

    def __init__(
        self, build: Callable[[], Job], case: Case, engine: Callable[[], dict[str, Value]]
    ) -> None:
        # before the model is built: layers take dtype and seed when they are created
        engines.set_seed(options.seed(case))
        keras.config.set_dtype_policy(_POLICIES[str(case.options["precision"])])
        job = build()
        self.case, self.job = case, job
        self._channels_first = channels_first(job, case)
        self._engine = engine  # its facts
        self.model = check_model(job.model, case)
        self.inputs, self.targets = batch(job, case)
        self.items = options.items(job) or len(self.targets)
        self.train = options.is_training(job, case)
        self.saved: dict[str, Value] = {}  # facts of the weights file that a training wrote
        self._optimizer = options.optimizer_name(case, job.optimizer)
        self.model.compile(
            optimizer=_optimizer(job, case),
            loss=_loss(job) if job.trains else None,
            run_eagerly=job.eager,
            jit_compile=case.options["compiler"] == "on" and not job.eager,
        )

    def outputs(self) -> Any:
        return as_array(self.model(self.inputs, training=False))

    def weights(self) -> Iterator[Any]:
        """Trainable ones, before the first step: a step may donate their memory."""
        return (as_array(weight) for weight in self.model.trainable_variables)

    def predict(self, inputs: Any) -> Any:
        """Outputs of a batch, without dropout; images are channels last."""
        outputs = self.model.predict_on_batch(options.to_layout(inputs, self._channels_first))
        return np.asarray(outputs, np.float32)

    def teach(self, request: Train) -> Iterator[Report]:
        """By the request's recipe, or by the job's method; then the model is the trained one."""
        from assay.backends.keras.train import train_model

        self.model = yield from train_model(self, request)

    def facts(self) -> dict[str, Value]:
        weights = self.model.trainable_variables
        return {
            **options.facts(self.case),
            **self._engine(),
            "mode": options.mode(self.train),
            "input_shape": options.shape_text(*keras.tree.flatten(self.inputs)),
            "eager": bool(self.model.run_eagerly),
            # trainable ones, as the other backends count; without moving averages
            "parameters": sum(math.prod(weight.shape) for weight in weights),
            "compute_dtype": str(self.model.compute_dtype),
            "parameter_dtype": str(weights[0].dtype) if weights else "",
            "output_dtype": _output_dtype(self.model),
            "data_format": keras.config.image_data_format(),
            "compiler": "on" if self.model.jit_compile else "off",
            "optimizer": self._optimizer,
            **self.saved,
        }


class KerasSession:
    """A session of any engine."""

    tokens, sees_tokens = 0, False  # of text: Keras generates all of a step in one loop

    def __init__(self, built: KerasModel) -> None:
        self._built, self.items = built, built.items
        self._first: Any = None

    def generates(self, first: Any) -> None:
        """For text; `first` is a session of the same weights that stops after one token."""
        self.tokens, self._first = self.items // len(self._built.inputs), first

    def first_token(self) -> None:
        self._first.step()
        self._first.wait()

    def next_token(self) -> None:
        raise NotImplementedError("one loop generates all tokens")

    def facts(self) -> Mapping[str, Value]:
        return self._built.facts()

    def weights(self) -> Iterator[Any]:
        return self._built.weights()

    def predict(self, inputs: Any) -> Any:
        return self._built.predict(inputs)

    def train(self, request: Train) -> Iterator[Report]:
        return self._built.teach(request)


def as_array(outputs: Any) -> Any:
    """float32 numpy; several outputs are flattened and concatenated."""
    arrays = [
        keras.ops.convert_to_numpy(keras.ops.cast(part, "float32"))
        for part in keras.tree.flatten(outputs)
    ]
    return arrays[0] if len(arrays) == 1 else np.concatenate([array.ravel() for array in arrays])


def _output_dtype(model: Any) -> str:
    """Of the symbolic outputs; a subclassed model has none, but has a compute dtype."""
    outputs = getattr(model, "outputs", None)
    return str(outputs[0].dtype if outputs else model.compute_dtype)


def check_model(model: Any, case: Case) -> Any:
    if isinstance(model, keras.Model):
        return model
    raise UsageError(
        f"{case.workload} gave a {type(model).__module__}.{type(model).__name__}, "
        "but a Keras backend opens a keras.Model.",
        hint="Return a keras.Model, or choose a backend for what it returns.",
    )


def _optimizer(job: Job, case: Case) -> Any:
    rate = job.learning_rate
    optimizers: dict[str, Callable[[], Any]] = {
        "sgd": lambda: keras.optimizers.SGD(rate),
        "momentum": lambda: keras.optimizers.SGD(rate, momentum=0.9),
        "rmsprop": lambda: keras.optimizers.RMSprop(rate),
        "adam": lambda: keras.optimizers.Adam(rate),
    }
    return optimizers[options.optimizer_name(case, job.optimizer)]()


def _loss(job: Job) -> Any:
    if job.loss == "mse":
        return keras.losses.MeanSquaredError()
    if job.loss == "binary-cross-entropy":
        return keras.losses.BinaryCrossentropy(from_logits=True)
    return keras.losses.SparseCategoricalCrossentropy(from_logits=not ends_in_softmax(job.model))


def ends_in_softmax(model: Any) -> bool:
    last = model.layers[-1]
    activation = getattr(getattr(last, "activation", None), "__name__", "")
    return activation == "softmax" or isinstance(last, keras.layers.Softmax)


def channels_first(job: Job, case: Case) -> bool:
    """Whether the model takes images in this layout: its own layout precedes the option."""
    return (job.data_format or case.options["data_format"]) == "channels_first"


def batch(job: Job, case: Case) -> tuple[Any, Any]:
    """The job's batch in the model's layout; without one, made from the model's input shapes."""
    if job.train_batch is None:
        return _random_batch(job.model, case)
    inputs, targets = options.batch(job, case, channels_first(job, case))
    if targets is None:  # a user's model with an example
        random = np.random.default_rng([options.seed(case), 1])
        targets = _labels(keras.tree.flatten(job.model(inputs)), job.items, random)
    return inputs, targets


def _random_batch(model: Any, case: Case) -> tuple[Any, Any]:
    """For a user's bare model: seeded inputs, and labels for its outputs."""
    seed, size = options.seed(case), int(case.params["batch_size"])
    random = np.random.default_rng([seed, 1])
    drawn = [
        _random_input(random, (size, *tensor.shape[1:]), tensor.dtype) for tensor in model.inputs
    ]
    structure = getattr(model, "_inputs_struct", None)
    named = keras.tree.pack_sequence_as(structure, drawn) if isinstance(structure, dict) else None
    inputs = named or (drawn[0] if len(drawn) == 1 else tuple(drawn))
    return inputs, _labels(model.outputs, size, random)


def _random_input(random: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """Integers are 0 or 1, so that every embedding has the row."""
    if "float" in dtype:
        return random.uniform(-1, 1, shape).astype(np.float32)
    return random.integers(0, 2, shape).astype(dtype)


def _labels(outputs: list[Any], size: int, random: np.random.Generator) -> Any:
    """A class for each row of outputs; zeros for several outputs or outputs without classes, which
    only inference takes."""
    shape = outputs[0].shape
    if len(outputs) > 1 or len(shape) < 2:
        return np.zeros(size, np.int32)
    return random.integers(0, shape[-1], (size, *shape[1:-1])).astype(np.int32)
