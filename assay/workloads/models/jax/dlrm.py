"""The recommendation model in JAX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
from jax.nn import relu

from assay.workloads.dlrm import TABLES, pair_indices
from assay.workloads.models.jax.layers import dense, tree


def model(
    arrays: Mapping[str, Any], rows: int, depth: int, bottom: Sequence[int], top: Sequence[int]
) -> tuple[Any, ...]:
    starts, pairs = jnp.arange(TABLES) * rows, jnp.array(pair_indices())

    def apply(params: Any, inputs: Any, key: Any = None, data_format: str = "") -> Any:
        numbers, places = inputs
        for weights in params["bottom"]:
            numbers = relu(dense(weights, numbers))
        looked_up = params["embed"]["embeddings"][places + starts]
        vectors = jnp.concatenate([numbers[:, None], looked_up], 1)
        products = (vectors @ vectors.swapaxes(1, 2)).reshape(len(numbers), -1)
        values = jnp.concatenate([numbers, products[:, pairs]], 1)
        *hidden, head = params["top"]
        for weights in hidden:
            values = relu(dense(weights, values))
        return dense(head, values)

    return apply, tree(arrays)
