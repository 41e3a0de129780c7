"""TensorFlow: a step is one tf.function that reads and updates variables on the device."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import tensorflow as tf

from assay.backends import options
from assay.backends.tensorflow import fold_backends_tensorflow_trees, setup
from assay.backends.tensorflow.fold_backends_tensorflow_optimizers import TensorFlowOptimizer
from assay.core.errors import UsageError
from assay.core.records import Case, Value
from assay.core.sessions import Job

_MIXED = {"bfloat16": tf.bfloat16, "float16": tf.float16}
SCALE = (
    1024.0  # of the loss in float16, whose small gradients would be 0; Keras has the dynamic one
)


class TensorFlowSession:
    def __init__(self, job: Job, case: Case, strategy: Any = None) -> None:  # noqa: ANN401
        self._strategy = strategy
        self._case, self._job, self._model = case, job, _checked(job.model, case)
        self._train = options.trains(job, case)
        self._pure = case.options["precision"] == "pure-bfloat16"
        first = case.options["data_format"] == "channels_first"
        self._layout = {"data_format": "channels_first"} if first else {}
        self._weights = self._variables()
        self._check_bare()
        inputs, targets = options.batch(job, case, first)
        self.items = options.items(job)
        self._inputs = fold_backends_tensorflow_trees.cast(
            inputs, tf.bfloat16 if self._pure else None
        )
        self._targets = fold_backends_tensorflow_trees.cast(targets, None)
        self._loss = job.loss if callable(job.loss) else _LOSSES[job.loss]
        name = options.chosen_optimizer(case, job.optimizer)
        self._optimizers = [
            TensorFlowOptimizer(name, job.learning_rate, weights)
            for weights in self._copies()
            if self._train
        ]
        step = self._train_step if self._train else self._forward
        self._data = (self._inputs, self._targets) if self._train else (self._inputs,)
        if strategy:
            self._data = setup.shared(strategy, self._data)
            step = functools.partial(strategy.run, self._train_step)
            self._function = tf.function(lambda data: step(args=data))
            self._data = (self._data,)
        else:
            self._function = tf.function(step, jit_compile=case.options["compiler"] == "on")

    def step(self) -> None:
        self._function(*self._data)

    def wait(self) -> None:
        # not an output but the devices are waited for: the update of the weights comes last
        setup.wait()

    def outputs(self) -> Any:  # noqa: ANN401 (a numpy array)
        return fold_backends_tensorflow_trees.as_array(self._inferred(self._inputs))

    def weights(self) -> Iterator[Any]:
        return (tf.cast(weight, tf.float32).numpy() for weight in self._weights)

    def macs(self) -> float:
        return setup.macs(self._traced.graph)

    def product_dtypes(self) -> str:
        return setup.product_dtypes(self._traced.graph)

    def facts(self) -> Mapping[str, Value]:
        mixed = _MIXED.get(str(self._case.options["precision"]))
        return {
            **options.facts(self._case),
            **setup.facts(),
            "mode": options.mode(self._train),
            "input_shape": options.shape_text(*tf.nest.flatten(self._inputs)),
            "parameters": sum(weight.shape.num_elements() for weight in self._weights),
            "compute_dtype": (
                mixed or fold_backends_tensorflow_trees.dtype((self._inputs, self._weights))
            ).name,
            "parameter_dtype": self._weights[0].dtype.name if self._weights else "",
            "output_dtype": fold_backends_tensorflow_trees.dtype(
                self._traced.structured_outputs
            ).name,
            "data_format": self._case.options["data_format"],
            "compiler": self._case.options["compiler"],
            "optimizer": options.chosen_optimizer(self._case, self._job.optimizer),
        }

    @cached_property
    def _inferred(self) -> Any:  # noqa: ANN401
        compiled = self._case.options["compiler"] == "on"
        return tf.function(self._forward, jit_compile=compiled)

    @cached_property
    def _traced(self) -> Any:  # noqa: ANN401
        """The forward pass, for all that is to be known of it; its outputs come from this trace."""
        return self._inferred.get_concrete_function(self._inputs)

    def _check_bare(self) -> None:
        """A user's module computes in the dtype of its own variables, and in its own layout."""
        options.check_as_given(self._job, self._case)
        precision = str(self._case.options["precision"])
        if self._job.as_given and (precision in _MIXED or self._pure):
            raise UsageError(
                f"precision is {precision}, but tensorflow cannot change that of a bare module.",
                hint="Leave precision out, or cast in the module.",
            )
        if self._train and not self._weights:
            raise UsageError(
                f"{self._case.workload} has no weights to train.", hint="Use --mode infer."
            )

    def _variables(self) -> list[Any]:
        """The model's own weights, or bfloat16 ones in their place."""
        own = list(getattr(self._model, "weights", self._model.trainable_variables))
        return [tf.Variable(tf.cast(weight, tf.bfloat16)) for weight in own] if self._pure else own

    def _forward(self, inputs: Any, **training: bool) -> Any:  # noqa: ANN401 (tensors)
        mixed = _MIXED.get(str(self._case.options["precision"]))
        other: dict[str, Any] = {**training, **self._layout}
        if mixed is not None:
            inputs = fold_backends_tensorflow_trees.cast(inputs, mixed)
            other["weights"] = [tf.cast(weight, mixed) for weight in self._weights]
        elif self._pure:
            other["weights"] = self._weights
        return self._model(inputs, **other)

    def _train_step(self, inputs: Any, targets: Any) -> Any:  # noqa: ANN401
        scale = SCALE if self._case.options["precision"] == "float16" else 1.0
        with tf.GradientTape() as tape:
            outputs = fold_backends_tensorflow_trees.cast(
                self._forward(inputs, training=True), tf.float32
            )
            loss = self._loss(outputs, targets) * scale
        gradients = tape.gradient(loss, self._weights)
        if scale != 1.0:
            gradients = [gradient / scale for gradient in gradients]
        number = 0
        if self._strategy:
            here = tf.distribute.get_replica_context()
            gradients = here.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)
            number = int(tf.get_static_value(here.replica_id_in_sync_group))
        self._optimizers[number].update(gradients)
        return loss

    def _copies(self) -> list[list[Any]]:
        """The weights of each device: the same on all, and updated alike."""
        if not self._strategy:
            return [self._weights]
        own = self._strategy.experimental_local_results
        return [list(copies) for copies in zip(*map(own, self._weights), strict=True)]


open_session = TensorFlowSession


def _checked(model: Any, case: Case) -> Any:  # noqa: ANN401
    if isinstance(model, tf.Module):
        return model
    raise UsageError(
        f"{case.workload} gave a {type(model).__module__}.{type(model).__name__}, "
        "but tensorflow opens a tf.Module.",
        hint="Return a tf.Module called with (inputs, training=…), or choose another backend.",
    )


def _cross_entropy(logits: Any, labels: Any) -> Any:  # noqa: ANN401
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    return tf.reduce_mean(losses)


def _mean_square(outputs: Any, targets: Any) -> Any:  # noqa: ANN401
    return tf.reduce_mean(tf.math.squared_difference(outputs, tf.cast(targets, tf.float32)))


def _binary_cross_entropy(logits: Any, labels: Any) -> Any:  # noqa: ANN401
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))


_LOSSES: dict[Any, Any] = {
    "mean": fold_backends_tensorflow_trees.mean,
    "cross-entropy": _cross_entropy,
    "mse": _mean_square,
    "binary-cross-entropy": _binary_cross_entropy,
}
