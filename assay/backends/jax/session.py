"""JAX: a step is one jitted function from state to state, which reuses the state's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from assay.backends import data_parallel, options
from assay.backends.jax import setup, trees
from assay.backends.jax.forward import TracedForward
from assay.core.errors import UsageError
from assay.core.records import Case, Value
from assay.core.sessions import Job

_MIXED = {"bfloat16": jnp.bfloat16, "float16": jnp.float16}
SCALE = 1024.0  # of the loss in float16, so that gradients do not underflow; JAX has no scaler


class JaxSession:
    """Each step takes the state and returns the next one."""

    def __init__(self, job: Job, case: Case, mesh: Any = None) -> None:
        self._case, self._job, self._mesh = case, job, mesh
        self._train = options.is_training(job, case)
        self._apply, params, *extra = _parts(job.model, case)
        pure = case.options["precision"] == "pure-bfloat16"
        first = case.options["data_format"] == "channels_first"
        self._layout = {"data_format": "channels_first"} if first else {}
        options.check_fixed_layout(job, case)
        inputs, targets = options.batch(job, case, first)
        split, self._whole = setup.shardings(self._mesh)
        self._inputs = jax.device_put(trees.cast(inputs, jnp.bfloat16 if pure else None), split)
        self._batch = self._inputs
        self._targets = jax.device_put(targets, split)
        self.items = options.items(job)
        if pure:
            params = trees.cast(params, jnp.bfloat16)
        if self._train and not jax.tree.leaves(params):
            raise UsageError(f"{case.workload} has no weights to train.", hint="Use --mode infer.")
        self._loss = job.loss if callable(job.loss) else _LOSSES[job.loss]
        self._name = options.optimizer_name(case, job.optimizer)
        self._optimizer = JaxOptimizer(self._name, job.learning_rate)
        self._state: Any = {"params": params, "kept": extra}
        if self._train:
            self._state |= {
                "slots": self._optimizer.slots(params),
                "key": jax.random.key(options.seed(case)),
                "count": jnp.zeros((), jnp.int32),
            }
        if self._mesh:  # every device has a copy of the state; XLA sums their gradients
            self._state = jax.device_put(self._state, self._whole)
        self._one_at_a_time = data_parallel.is_serialized(case)
        self._found: Any = None
        self._function = self._compile()

    def step(self) -> None:
        if self._train:
            self._state, self._found = self._function(self._state, self._inputs, self._targets)
            if self._one_at_a_time:
                self.wait()
        else:
            self._found = self._function(*self._forward_arguments())

    def wait(self) -> None:
        # JAX returns before the device has finished; the new state and the outputs come last
        jax.block_until_ready((self._state, self._found))

    def fresh_inputs(self, number: int) -> Any:
        return trees.vary(self._batch, number)

    def set_inputs(self, inputs: Any) -> None:
        self._inputs = inputs

    def step_output(self) -> tuple[tuple[int, ...], Any]:
        return trees.sample_output(self._found)

    def outputs(self) -> Any:
        return trees.as_array(self._shown())

    def sampled_outputs(self) -> tuple[tuple[int, ...], Any]:
        return trees.sample_output(self._shown())

    def read(self) -> object:
        return trees.read(self._found)

    def weights(self) -> Iterator[Any]:
        return (np.asarray(leaf, np.float32) for leaf in jax.tree.leaves(self._state["params"]))

    def macs(self) -> float:
        return setup.macs(self._forward_jaxpr)

    def executed_macs(self) -> float:
        return setup.executed_macs(self._forward_jaxpr)

    def product_dtypes(self) -> str:
        return setup.product_dtypes(self._forward_jaxpr)

    @cached_property
    def _forward_jaxpr(self) -> Any:
        """The forward pass; its outputs and facts come from this trace."""
        if isinstance(self._shown, TracedForward):
            return self._shown.jaxpr
        return jax.make_jaxpr(self._infer)(*self._forward_arguments())

    def facts(self) -> Mapping[str, Value]:
        weights = jax.tree.leaves(self._state["params"])
        mixed = _MIXED.get(str(self._case.options["precision"]))
        return {
            **options.facts(self._case),
            **setup.facts(),
            "mode": options.mode(self._train),
            "input_shape": options.shape_text(*jax.tree.leaves(self._inputs)),
            "parameters": sum(weight.size for weight in weights),
            "compute_dtype": np.dtype(mixed or trees.dtype((self._inputs, weights))).name,
            "parameter_dtype": weights[0].dtype.name if weights else "",
            "output_dtype": trees.dtype(self._forward_jaxpr.out_avals).name,
            "data_format": self._case.options["data_format"],
            "compiler": self._case.options["compiler"],
            "optimizer": self._name,
        }

    def _compile(self) -> Any:
        function = self._train_step if self._train else self._infer
        if self._case.options["compiler"] == "off":
            return function
        if self._mesh:
            return jax.jit(function, donate_argnums=(0,), out_shardings=self._whole)
        return jax.jit(function, donate_argnums=(0,) if self._train else ())

    @cached_property
    def _shown(self) -> Callable[[], Any]:
        """Outputs with the current weights."""
        if self._case.options["compiler"] == "off":
            return lambda: self._infer(*self._forward_arguments())
        return TracedForward(self._infer, self._forward_arguments)

    def _forward_arguments(self) -> tuple[Any, ...]:
        return self._state["params"], self._state["kept"], self._inputs

    def _infer(self, params: Any, extra: Any, inputs: Any) -> Any:
        return self._forward(params, extra, inputs)[0]

    def _forward(self, params: Any, extra: Any, inputs: Any, **dropout: object) -> tuple[Any, Any]:
        """Outputs, and the new state that the model has besides its parameters."""
        mixed = _MIXED.get(str(self._case.options["precision"]))
        if mixed is not None:
            params, inputs = trees.cast((params, inputs), mixed)
        if not extra:
            return self._apply(params, inputs, **dropout, **self._layout), extra
        outputs, new_extra = self._apply(params, inputs, state=extra[0], **dropout, **self._layout)
        return outputs, [new_extra]

    def _train_step(self, state: Any, inputs: Any, targets: Any) -> Any:
        key, dropout_key = jax.random.split(state["key"])
        scale = SCALE if self._case.options["precision"] == "float16" else 1.0

        def loss(params: Any) -> Any:
            outputs, extra = self._forward(params, state["kept"], inputs, key=dropout_key)
            return self._loss(trees.cast(outputs, jnp.float32), targets) * scale, extra

        (value, extra), gradients = jax.value_and_grad(loss, has_aux=True)(state["params"])
        if scale != 1.0:
            gradients = jax.tree.map(lambda gradient: gradient / scale, gradients)
        count = state["count"] + 1
        params, slots = self._optimizer.update(state["params"], gradients, state["slots"], count)
        new = {"params": params, "kept": extra, "slots": slots, "key": key, "count": count}
        return new, value


class JaxGeneration(JaxSession):
    """Text generation: one compiled loop generates all tokens of a step."""

    sees_tokens = False

    def __init__(self, job: Job, case: Case, mesh: Any = None) -> None:
        super().__init__(job, case, mesh)
        self.tokens = self.items // len(self._inputs)
        self._first = self._first_function(job.first[0])

    def first_token(self) -> None:
        params, _, inputs = self._forward_arguments()
        jax.block_until_ready(self._first(params, inputs))

    def next_token(self) -> None:
        raise NotImplementedError("one compiled loop generates all tokens")

    def _first_function(self, apply: Any) -> Any:
        mixed = _MIXED.get(str(self._case.options["precision"]))

        def first(params: Any, inputs: Any) -> Any:
            return apply(trees.cast(params, mixed), inputs)

        return first if self._case.options["compiler"] == "off" else jax.jit(first)


def open_session(job: Job, case: Case, mesh: Any = None) -> JaxSession:
    return (JaxSession if job.first is None else JaxGeneration)(job, case, mesh)


def _parts(model: Any, case: Case) -> tuple[Any, ...]:
    if isinstance(model, tuple) and len(model) in {2, 3} and callable(model[0]):
        return model
    raise UsageError(
        f"{case.workload} gave a {type(model).__module__}.{type(model).__name__}, but jax opens "
        "a pair: a function of (params, inputs, key=None), and params.",
        hint="Return (apply, params); or (apply, params, state), whose apply takes state= and "
        "returns (outputs, new state).",
    )


def _cross_entropy(logits: Any, labels: Any) -> Any:
    """By sums over the classes, which XLA fuses: the gradient of a gather is a slow scatter."""
    classes = jax.lax.broadcasted_iota(labels.dtype, logits.shape, logits.ndim - 1)
    chosen = jnp.where(classes == labels[..., None], logits, 0).sum(-1)
    return (jax.nn.logsumexp(logits, axis=-1) - chosen).mean()


def _mean_square(outputs: Any, targets: Any) -> Any:
    return jnp.mean((outputs - targets) ** 2)


def _binary_cross_entropy(logits: Any, labels: Any) -> Any:
    return jnp.mean(jax.nn.softplus(logits) - labels * logits)


_LOSSES: dict[Any, Any] = {
    "mean": trees.mean,
    "cross-entropy": _cross_entropy,
    "mse": _mean_square,
    "binary-cross-entropy": _binary_cross_entropy,
}


# (gradient, slots of this weight, count of steps from 1) → (update to subtract, new slots)
Rule = Callable[[Any, Any, Any], tuple[Any, Any]]


class JaxOptimizer:
    """A rule and its learning rate; its slots are part of the session's state."""

    def __init__(self, name: str, rate: float) -> None:
        self._rule, self._count = _RULES[name]
        self._rate = rate

    def slots(self, params: Any) -> Any:
        """The arrays that the rule needs for each weight."""
        return [
            [jnp.zeros_like(leaf) for _ in range(self._count)] for leaf in jax.tree.leaves(params)
        ]

    def update(self, params: Any, gradients: Any, slots: Any, count: Any) -> tuple[Any, Any]:
        """New parameters and new slots, each with its dtype."""
        leaves, shape = jax.tree.flatten(params)
        new_leaves, new_slots = [], []
        for leaf, gradient, state in zip(leaves, jax.tree.leaves(gradients), slots, strict=True):
            change, new = self._rule(gradient, state, count)
            new_leaves.append((leaf - self._rate * change).astype(leaf.dtype))
            new_slots.append([slot.astype(leaf.dtype) for slot in new])
        return jax.tree.unflatten(shape, new_leaves), new_slots


def _sgd(gradient: Any, slots: Any, count: Any) -> tuple[Any, Any]:
    return gradient, []


def _momentum(gradient: Any, slots: Any, count: Any) -> tuple[Any, Any]:
    speed = 0.9 * slots[0] + gradient
    return speed, [speed]


def _rmsprop(gradient: Any, slots: Any, count: Any) -> tuple[Any, Any]:
    square = 0.9 * slots[0] + 0.1 * gradient**2
    return gradient / jnp.sqrt(square + 1e-7), [square]


def _adam(gradient: Any, slots: Any, count: Any) -> tuple[Any, Any]:
    mean = 0.9 * slots[0] + 0.1 * gradient
    square = 0.999 * slots[1] + 0.001 * gradient**2
    scale = jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    return scale * mean / (jnp.sqrt(square) + 1e-7), [mean, square]


# the rule, and how many slots it needs
_RULES: dict[str, tuple[Rule, int]] = {
    "sgd": (_sgd, 0),
    "momentum": (_momentum, 1),
    "rmsprop": (_rmsprop, 1),
    "adam": (_adam, 2),
}
