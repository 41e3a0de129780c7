"""GPT-2 in JAX: training, and generation in one loop that is compiled with the prompt's pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from assay.workloads.models.jax.layers import dense, layer_norm, tree
from assay.workloads.models.jax.transformer import attend, block, finish_block, split_heads
from assay.workloads.transformer_decoder import EPSILON


def model(
    arrays: Mapping[str, Any], layers: int, width: int, heads: int, vocabulary: int, length: int
) -> tuple[Any, ...]:
    """Tokens → the logits of each next token."""

    def apply(params: Any, tokens: Any, key: Any = None, data_format: str = "") -> Any:
        values = params["embed"]["embeddings"][tokens] + params["positions"]["embeddings"][:length]
        for weights in params["blocks"]:
            values = block(weights, values, heads, EPSILON, causal=True)
        return _logits(params, values)

    return apply, tree(arrays)


def generators(arrays: Mapping[str, Any], generated: int, **numbers: int) -> tuple[Any, Any]:
    """A prompt → the tokens that follow it; and a model of only the first of them."""
    params, heads = tree(arrays), numbers["heads"]

    def apply(params: Any, prompt: Any, key: Any = None, data_format: str = "") -> Any:
        token, cache = _prefill(params, prompt, heads, generated)
        text = jnp.zeros((len(prompt), generated), jnp.int32).at[:, 0].set(token)

        def one_more(number: Any, state: Any) -> Any:
            text, token, cache = state
            token, cache = _decode(params, token, cache, prompt.shape[1] + number - 1, heads)
            return text.at[:, number].set(token), token, cache

        return lax.fori_loop(1, generated, one_more, (text, token, cache))[0]

    def first(params: Any, prompt: Any, key: Any = None, data_format: str = "") -> Any:
        return _prefill(params, prompt, heads, generated)[0]

    return (apply, params), (first, params)


def _prefill(params: Any, prompt: Any, heads: int, generated: int) -> tuple[Any, Any]:
    """The first token, and keys and values (batch, heads, length, depth) padded for the rest."""
    length, cache = prompt.shape[1], []
    values = params["embed"]["embeddings"][prompt] + params["positions"]["embeddings"][:length]
    for weights in params["blocks"]:
        normed = layer_norm(weights["norms"][0], values, EPSILON)
        query, *keys_values = split_heads(weights["attention"], normed, heads)
        attended_values = attend(weights["attention"], (query, *keys_values), causal=True)
        values = finish_block(weights, values, attended_values, EPSILON)
        room = ((0, 0), (0, 0), (0, generated - 1), (0, 0))
        cache.append([jnp.pad(part.swapaxes(1, 2), room) for part in keys_values])
    return _greedy_tokens(_logits(params, values[:, -1])), cache


def _decode(params: Any, token: Any, cache: Any, at: Any, heads: int) -> tuple[Any, Any]:
    """The next token, after the one at position `at`."""
    values = params["embed"]["embeddings"][token] + params["positions"]["embeddings"][at]
    left = []
    for weights, (keys, values_cache) in zip(params["blocks"], cache, strict=True):
        normed = layer_norm(weights["norms"][0], values, EPSILON)
        attended_values, *new = _attend_one(weights["attention"], normed, keys, values_cache, at)
        values = finish_block(weights, values, attended_values, EPSILON)
        left.append(new)
    return _greedy_tokens(_logits(params, values)), left


def _attend_one(
    weights: Any, values: Any, keys: Any, cached_values: Any, at: Any
) -> tuple[Any, Any, Any]:
    """Attention of position `at`, whose key and value are added to the cache."""
    batch, heads, length, depth = keys.shape
    parts = dense(weights["project"], values).reshape(batch, 3, heads, depth)
    query, key, value = (parts[:, part] for part in range(3))
    keys = lax.dynamic_update_slice(keys, key[:, :, None], (0, 0, at, 0))
    cached_values = lax.dynamic_update_slice(cached_values, value[:, :, None], (0, 0, at, 0))
    scores = jnp.einsum("bhd,bhld->bhl", query, keys).astype(jnp.float32) * depth**-0.5
    scores = jnp.where(jnp.arange(length) <= at, scores, -jnp.inf)
    shares = jax.nn.softmax(scores).astype(values.dtype)
    outputs = jnp.einsum("bhl,bhld->bhd", shares, cached_values).reshape(batch, -1)
    return dense(weights["out"], outputs), keys, cached_values


def _logits(params: Any, values: Any) -> Any:
    """The head is the transposed embedding."""
    return layer_norm(params["norm"], values, EPSILON) @ params["embed"]["embeddings"].T


def _greedy_tokens(logits: Any) -> Any:
    return jnp.argmax(logits, -1).astype(jnp.int32)
