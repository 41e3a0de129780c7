"""TensorFlow: a step is one tf.function that reads and updates variables on the device."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import tensorflow as tf

from assay.backends import options
from assay.backends.tensorflow import setup
from assay.core import fingerprint
from assay.core.errors import UsageError
from assay.core.records import Case, Value
from assay.core.sessions import Job

_MIXED = {"bfloat16": tf.bfloat16, "float16": tf.float16}
SCALE = 1024.0  # of the loss in float16, so that gradients do not underflow; Keras' is dynamic


class TensorFlowSession:
    def __init__(self, job: Job, case: Case, strategy: Any = None) -> None:
        self._strategy = strategy
        self._case, self._job, self._model = case, job, _check_model(job.model, case)
        self._train = options.is_training(job, case)
        self._pure = case.options["precision"] == "pure-bfloat16"
        first = case.options["data_format"] == "channels_first"
        self._layout = {"data_format": "channels_first"} if first else {}
        self._weights = self._variables()
        self._check_bare()
        inputs, targets = options.batch(job, case, first)
        self.items = options.items(job)
        self._inputs = cast(inputs, tf.bfloat16 if self._pure else None)
        self._batch = self._inputs
        self._found: Any = None
        self._targets = cast(targets, None)
        self._loss = job.loss if callable(job.loss) else _LOSSES[job.loss]
        name = options.optimizer_name(case, job.optimizer)
        self._optimizers = [
            TensorFlowOptimizer(name, job.learning_rate, weights)
            for weights in self._copies()
            if self._train
        ]
        step = self._train_step if self._train else self._forward
        self._data = (self._inputs, self._targets) if self._train else (self._inputs,)
        if strategy:
            self._data = setup.is_shared(strategy, self._data)
            step = functools.partial(strategy.run, self._train_step)
            self._function = tf.function(lambda data: step(args=data))
            self._data = (self._data,)
        else:
            self._function = tf.function(step, jit_compile=case.options["compiler"] == "on")

    def step(self) -> None:
        self._found = self._function(*self._data)

    def wait(self) -> None:
        # wait for the devices, not for an output: the weights are updated last
        setup.wait()

    def fresh_inputs(self, number: int) -> Any:
        return vary(self._batch, number)

    def set_inputs(self, inputs: Any) -> None:
        self._inputs, self._data = inputs, (inputs, *self._data[1:])

    def step_output(self) -> tuple[tuple[int, ...], Any]:
        return fingerprint.sample_values(as_array(self._found))

    def outputs(self) -> Any:
        return as_array(self._forward_function(self._inputs))

    def weights(self) -> Iterator[Any]:
        return (tf.cast(weight, tf.float32).numpy() for weight in self._weights)

    def macs(self) -> float:
        return setup.macs(self._concrete_forward.graph)

    def product_dtypes(self) -> str:
        return setup.product_dtypes(self._concrete_forward.graph)

    def facts(self) -> Mapping[str, Value]:
        mixed = _MIXED.get(str(self._case.options["precision"]))
        return {
            **options.facts(self._case),
            **setup.facts(),
            "mode": options.mode(self._train),
            "input_shape": options.shape_text(*tf.nest.flatten(self._inputs)),
            "parameters": sum(weight.shape.num_elements() for weight in self._weights),
            "compute_dtype": (mixed or dtype((self._inputs, self._weights))).name,
            "parameter_dtype": self._weights[0].dtype.name if self._weights else "",
            "output_dtype": dtype(self._concrete_forward.structured_outputs).name,
            "data_format": self._case.options["data_format"],
            "compiler": self._case.options["compiler"],
            "optimizer": options.optimizer_name(self._case, self._job.optimizer),
        }

    @cached_property
    def _forward_function(self) -> Any:
        compiled = self._case.options["compiler"] == "on"
        return tf.function(self._forward, jit_compile=compiled)

    @cached_property
    def _concrete_forward(self) -> Any:
        """The forward pass; its outputs and facts come from this trace."""
        return self._forward_function.get_concrete_function(self._inputs)

    def _check_bare(self) -> None:
        """A user's module has its own dtype and layout."""
        options.check_fixed_layout(self._job, self._case)
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
        """The model's weights, or bfloat16 copies."""
        own = list(getattr(self._model, "weights", self._model.trainable_variables))
        return [tf.Variable(tf.cast(weight, tf.bfloat16)) for weight in own] if self._pure else own

    def _forward(self, inputs: Any, **training: bool) -> Any:
        mixed = _MIXED.get(str(self._case.options["precision"]))
        other: dict[str, Any] = {**training, **self._layout}
        if mixed is not None:
            inputs = cast(inputs, mixed)
            other["weights"] = [tf.cast(weight, mixed) for weight in self._weights]
        elif self._pure:
            other["weights"] = self._weights
        return self._model(inputs, **other)

    def _train_step(self, inputs: Any, targets: Any) -> Any:
        scale = SCALE if self._case.options["precision"] == "float16" else 1.0
        with tf.GradientTape() as tape:
            outputs = cast(self._forward(inputs, training=True), tf.float32)
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
        """The weights of each device: equal copies."""
        if not self._strategy:
            return [self._weights]
        own = self._strategy.experimental_local_results
        return [list(copies) for copies in zip(*map(own, self._weights), strict=True)]


open_session = TensorFlowSession


def _check_model(model: Any, case: Case) -> Any:
    if isinstance(model, tf.Module):
        return model
    raise UsageError(
        f"{case.workload} gave a {type(model).__module__}.{type(model).__name__}, "
        "but tensorflow opens a tf.Module.",
        hint="Return a tf.Module called with (inputs, training=…), or choose another backend.",
    )


def _cross_entropy(logits: Any, labels: Any) -> Any:
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    return tf.reduce_mean(losses)


def _mean_square(outputs: Any, targets: Any) -> Any:
    return tf.reduce_mean(tf.math.squared_difference(outputs, tf.cast(targets, tf.float32)))


def _binary_cross_entropy(logits: Any, labels: Any) -> Any:
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))


def vary(tree: Any, number: int) -> Any:
    """The tree with other values, as `options.vary`, on the device."""

    def vary_leaf(leaf: Any) -> Any:
        return tf.constant(options.vary(leaf.numpy(), number), leaf.dtype)

    return tf.nest.map_structure(vary_leaf, tree) if number else tree


_SLOTS = {"sgd": 0, "momentum": 1, "rmsprop": 2, "adam": 2}


class TensorFlowOptimizer:
    """Slots for each weight, and the update rule."""

    def __init__(self, name: str, rate: float, weights: list[Any]) -> None:
        self._apply, self._rate, self._weights = getattr(self, f"_{name}"), rate, weights
        count = _SLOTS[name]
        self._slots = [
            [tf.Variable(tf.zeros_like(weight)) for _ in range(count)] for weight in weights
        ]
        self._count = tf.Variable(0.0)

    def update(self, gradients: list[Any]) -> None:
        self._count.assign_add(1.0)
        for weight, slots, gradient in zip(self._weights, self._slots, gradients, strict=True):
            handles = [slot.handle for slot in slots]
            self._apply(weight.handle, handles, gradient, tf.cast(self._rate, weight.dtype))

    def _sgd(self, weight: Any, slots: list[Any], gradient: Any, rate: Any) -> None:
        tf.raw_ops.ResourceApplyGradientDescent(var=weight, alpha=rate, delta=gradient)

    def _momentum(self, weight: Any, slots: list[Any], gradient: Any, rate: Any) -> None:
        tf.raw_ops.ResourceApplyMomentum(
            var=weight, accum=slots[0], lr=rate, grad=gradient, momentum=tf.cast(0.9, rate.dtype)
        )

    def _rmsprop(self, weight: Any, slots: list[Any], gradient: Any, rate: Any) -> None:
        rho, momentum, epsilon = (tf.cast(value, rate.dtype) for value in (0.9, 0.0, 1e-7))
        tf.raw_ops.ResourceApplyRMSProp(
            var=weight,
            ms=slots[0],
            mom=slots[1],
            lr=rate,
            rho=rho,
            momentum=momentum,
            epsilon=epsilon,
            grad=gradient,
        )

    def _adam(self, weight: Any, slots: list[Any], gradient: Any, rate: Any) -> None:
        powers = (tf.cast(beta**self._count, rate.dtype) for beta in (0.9, 0.999))
        beta1, beta2, epsilon = (tf.cast(value, rate.dtype) for value in (0.9, 0.999, 1e-7))
        tf.raw_ops.ResourceApplyAdam(
            var=weight,
            m=slots[0],
            v=slots[1],
            beta1_power=next(powers),
            beta2_power=next(powers),
            lr=rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            grad=gradient,
        )


def cast(tree: Any, dtype: Any) -> Any:
    """Convert floating-point tensors to this dtype; None: no conversion."""

    def convert(leaf: Any) -> Any:
        tensor = tf.convert_to_tensor(leaf)
        return tf.cast(tensor, dtype) if dtype and tensor.dtype.is_floating else tensor

    return tf.nest.map_structure(convert, tree)


def dtype(tree: Any) -> Any:
    """Of the first floating-point tensor, else of the first."""
    leaves = tf.nest.flatten(tree)
    return next((leaf.dtype for leaf in leaves if leaf.dtype.is_floating), leaves[0].dtype)


def as_array(tree: Any) -> Any:
    """float32; several outputs are flattened and concatenated."""
    arrays = [tf.cast(leaf, tf.float32).numpy() for leaf in tf.nest.flatten(tree)]
    return arrays[0] if len(arrays) == 1 else np.concatenate([array.ravel() for array in arrays])


def mean(outputs: Any, _: object) -> Any:
    """Of floating-point outputs."""
    leaves = [leaf for leaf in tf.nest.flatten(outputs) if leaf.dtype.is_floating]
    return tf.add_n([tf.reduce_mean(leaf) for leaf in leaves])


_LOSSES: dict[Any, Any] = {
    "mean": mean,
    "cross-entropy": _cross_entropy,
    "mse": _mean_square,
    "binary-cross-entropy": _binary_cross_entropy,
}
