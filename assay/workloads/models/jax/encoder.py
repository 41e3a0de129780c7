"""BERT with a classifier in JAX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp

from assay.workloads.models.jax.layers import apply_dropout, dense, layer_norm, tree
from assay.workloads.models.jax.transformer import block_norms_last
from assay.workloads.transformer_encoder import EPSILON


def model(
    arrays: Mapping[str, Any],
    length: int,
    classes: int,
    dropout: float,
    layers: int,
    width: int,
    heads: int,
    vocabulary: int,
) -> tuple[Any, ...]:
    """Two segments of equal length; norms after each sum, as in BERT."""

    def apply(params: Any, tokens: Any, key: Any = None, data_format: str = "") -> Any:
        values = params["embed"]["embeddings"][tokens] + params["positions"]["embeddings"][:length]
        values = values + jnp.repeat(params["segments"]["embeddings"], length // 2, axis=0)
        values = apply_dropout(
            layer_norm(params["norm"], values, EPSILON), dropout, key, 2 * layers
        )
        for number, weights in enumerate(params["blocks"]):
            values = block_norms_last(weights, values, heads, EPSILON, (dropout, key, number))
        pooled = jnp.tanh(dense(params["pool"], values[:, 0]))
        return dense(params["head"], apply_dropout(pooled, dropout, key, 2 * layers + 1))

    return apply, tree(arrays)
