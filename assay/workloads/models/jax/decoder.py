"""GPT-2 in JAX: to train, and to generate in one loop that is compiled with the prompt's pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from assay.workloads.models.jax.layers import dense, layer_norm, tree
from assay.workloads.models.jax.transformer import attended, block, projected, rest
from assay.workloads.transformer_decoder import EPSILON


def model(
    arrays: Mapping[str, Any], layers: int, width: int, heads: int, vocabulary: int, length: int
) -> tuple[Any, ...]:
    """Tokens → the logits of each one's successor."""

    def apply(params: Any, tokens: Any, key: Any = None, data_format: str = "") -> Any:
        values = params["embed"]["embeddings"][tokens] + params["positions"]["embeddings"][:length]
        for weights in params["blocks"]:
            values = block(weights, values, heads, EPSILON, causal=True)
        return _logits(params, values)

    return apply, tree(arrays)


def generators(arrays: Mapping[str, Any], generated: int, **numbers: int) -> tuple[Any, Any]:
    """A prompt → the tokens that follow it; and the first of them alone."""
    params, heads = tree(arrays), numbers["heads"]

    def apply(params: Any, prompt: Any, key: Any = None, data_format: str = "") -> Any:
        token, cache = _prefill(params, prompt, heads, generated)
        made = jnp.zeros((len(prompt), generated), jnp.int32).at[:, 0].set(token)

        def one_more(number: Any, state: Any) -> Any:
            made, token, cache = state
            token, cache = _decode(params, token, cache, prompt.shape[1] + number - 1, heads)
            return made.at[:, number].set(token), token, cache

        return lax.fori_loop(1, generated, one_more, (made, token, cache))[0]

    def first(params: Any, prompt: Any, key: Any = None, data_format: str = "") -> Any:
        return _prefill(params, prompt, heads, generated)[0]

    return (apply, params), (first, params)


def _prefill(params: Any, prompt: Any, heads: int, generated: int) -> tuple[Any, Any]:
    """The first token, and keys and values (batch, heads, length, depth) with room for the rest."""
    length, cache = prompt.shape[1], []
    values = params["embed"]["embeddings"][prompt] + params["positions"]["embeddings"][:length]
    for weights in params["blocks"]:
        normed = layer_norm(weights["norms"][0], values, EPSILON)
        query, *kept = projected(weights["attention"], normed, heads)
        found = attended(weights["attention"], (query, *kept), causal=True)
        values = rest(weights, values, found, EPSILON)
        room = ((0, 0), (0, 0), (0, generated - 1), (0, 0))
        cache.append([jnp.pad(part.swapaxes(1, 2), room) for part in kept])
    return _likeliest(_logits(params, values[:, -1])), cache


def _decode(params: Any, token: Any, cache: Any, at: Any, heads: int) -> tuple[Any, Any]:
    """One token more, after the one at position `at`."""
    values = params["embed"]["embeddings"][token] + params["positions"]["embeddings"][at]
    left = []
    for weights, (keys, kept) in zip(params["blocks"], cache, strict=True):
        normed = layer_norm(weights["norms"][0], values, EPSILON)
        found, *new = _attend_one(weights["attention"], normed, keys, kept, at)
        values = rest(weights, values, found, EPSILON)
        left.append(new)
    return _likeliest(_logits(params, values)), left


def _attend_one(weights: Any, values: Any, keys: Any, kept: Any, at: Any) -> tuple[Any, Any, Any]:
    """One position `at`, whose key and value join those kept: two products of a batch of rows."""
    batch, heads, length, depth = keys.shape
    parts = dense(weights["project"], values).reshape(batch, 3, heads, depth)
    query, key, value = (parts[:, part] for part in range(3))
    keys = lax.dynamic_update_slice(keys, key[:, :, None], (0, 0, at, 0))
    kept = lax.dynamic_update_slice(kept, value[:, :, None], (0, 0, at, 0))
    scores = jnp.einsum("bhd,bhld->bhl", query, keys).astype(jnp.float32) * depth**-0.5
    scores = jnp.where(jnp.arange(length) <= at, scores, -jnp.inf)
    shares = jax.nn.softmax(scores).astype(values.dtype)
    found = jnp.einsum("bhl,bhld->bhd", shares, kept).reshape(batch, -1)
    return dense(weights["out"], found), keys, kept


def _logits(params: Any, values: Any) -> Any:
    """The head is the embedding, turned round."""
    return layer_norm(params["norm"], values, EPSILON) @ params["embed"]["embeddings"].T


def _likeliest(logits: Any) -> Any:
    return jnp.argmax(logits, -1).astype(jnp.int32)
