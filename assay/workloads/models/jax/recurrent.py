"""LSTM and GRU in JAX: the inputs of all steps projected at once, then one scan over the steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.nn import sigmoid

from assay.workloads.models.jax.layers import dense, tree


def model(
    arrays: Mapping[str, Any], cell: str, units: int, length: int, features: int
) -> tuple[Any, ...]:
    over = {"LSTM": _lstm, "GRU": _gru}[cell]

    def apply(params: Any, values: Any, key: Any = None, data_format: str = "") -> Any:
        weights = params["recurrent"]
        by_step = (values @ weights["kernel"]).swapaxes(0, 1)
        nothing = jnp.zeros((len(values), units), values.dtype)
        return dense(params["head"], over(weights, by_step, nothing))

    return apply, tree(arrays)


def _lstm(weights: Any, by_step: Any, nothing: Any) -> Any:
    def step(state: Any, inputs: Any) -> Any:
        hidden, cell = state
        gates = inputs + hidden @ weights["recurrent_kernel"] + weights["bias"]
        input_gate, forget_gate, fresh, output_gate = jnp.split(gates, 4, -1)
        cell = sigmoid(forget_gate) * cell + sigmoid(input_gate) * jnp.tanh(fresh)
        return (sigmoid(output_gate) * jnp.tanh(cell), cell), None

    return lax.scan(step, (nothing, nothing), by_step)[0][0]


def _gru(weights: Any, by_step: Any, nothing: Any) -> Any:
    """As in Keras: the reset gate is applied after the product with the state."""

    def step(hidden: Any, inputs: Any) -> Any:
        update, reset, fresh = jnp.split(inputs + weights["bias"][0], 3, -1)
        recurrent = jnp.split(hidden @ weights["recurrent_kernel"] + weights["bias"][1], 3, -1)
        update, reset = sigmoid(update + recurrent[0]), sigmoid(reset + recurrent[1])
        fresh = jnp.tanh(fresh + reset * recurrent[2])
        return update * hidden + (1 - update) * fresh, None

    return lax.scan(step, nothing, by_step)[0]
