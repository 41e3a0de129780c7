"""GPT-2 in JAX: trained with Adam, or generating in one jitted loop."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def make(wish: dict[str, Any], batch: int, **sizes: int) -> Any:
    prompt, generated = sizes.pop("prompt"), sizes.pop("generated")
    weights = _weights(**sizes)
    if wish.get("pure"):
        weights = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), weights)
    text = jax.random.randint(
        jax.random.key(1), (batch, sizes["length"] + 1), 0, sizes["vocabulary"]
    )
    if wish.get("generate"):
        step = jax.jit(lambda w, x: _generate(w, x, sizes["heads"], generated))
        given = text[:, :prompt]
        return (lambda: step(weights, given)), jax.block_until_ready
    return _training(wish, weights, text, sizes["heads"])


def _training(wish: dict[str, Any], weights: Any, text: Any, heads: int) -> Any:
    def loss(weights: Any) -> Any:
        if wish.get("mixed"):
            weights = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), weights)
        logits = _forward(weights, text[:, :-1], heads).astype(jnp.float32)
        classes = jax.lax.broadcasted_iota(text.dtype, logits.shape, 2)
        chosen = jnp.where(classes == text[:, 1:, None], logits, 0).sum(-1)
        return (jax.nn.logsumexp(logits, -1) - chosen).mean()

    def update(state: Any) -> Any:
        weights, means, squares, count = state
        slopes = jax.grad(loss)(weights)
        count = count + 1
        means = jax.tree.map(lambda m, g: (0.9 * m + 0.1 * g).astype(m.dtype), means, slopes)
        squares = jax.tree.map(
            lambda s, g: (0.999 * s + 0.001 * g**2).astype(s.dtype), squares, slopes
        )
        scale = 1e-4 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        new = jax.tree.map(
            lambda w, m, s: (w - scale * m / (jnp.sqrt(s) + 1e-7)).astype(w.dtype),
            *(weights, means, squares),
        )
        return new, means, squares, count

    zeros = (jax.tree.map(jnp.zeros_like, weights) for _ in range(2))
    state = [(weights, *zeros, jnp.zeros((), jnp.int32))]
    step_function = jax.jit(update, donate_argnums=0)

    def step() -> Any:
        state[0] = step_function(state[0])
        return state[0]

    return step, jax.block_until_ready


def _weights(layers: int, width: int, heads: int, vocabulary: int, length: int) -> Any:
    keys = iter(jax.random.split(jax.random.key(0), 4 * layers + 2))

    def normal(*shape: int) -> Any:
        return 0.02 * jax.random.normal(next(keys), shape)

    def dense(before: int, after: int) -> Any:
        return normal(before, after), jnp.zeros(after)

    def norm() -> Any:
        return jnp.ones(width), jnp.zeros(width)

    blocks = [
        {
            "norms": (norm(), norm()),
            "qkv": dense(width, 3 * width),
            "out": dense(width, width),
            "wide": dense(width, 4 * width),
            "narrow": dense(4 * width, width),
        }
        for _ in range(layers)
    ]
    return {
        "tokens": normal(vocabulary, width),
        "positions": normal(length, width),
        "blocks": blocks,
        "norm": norm(),
    }


def _norm(weights: Any, x: Any) -> Any:
    wide = x.astype(jnp.float32)
    mean, variance = wide.mean(-1, keepdims=True), wide.var(-1, keepdims=True)
    found = (wide - mean) * jax.lax.rsqrt(variance + 1e-5) * weights[0] + weights[1]
    return found.astype(x.dtype)


def _dense(weights: Any, x: Any) -> Any:
    return x @ weights[0] + weights[1]


def _qkv(block: Any, x: Any, heads: int) -> Any:
    parts = _dense(block["qkv"], _norm(block["norms"][0], x))
    return [part.reshape(*x.shape[:-1], heads, -1) for part in jnp.split(parts, 3, -1)]


def _rest(block: Any, x: Any, found: Any) -> Any:
    x = x + _dense(block["out"], found.reshape(x.shape))
    wide = jax.nn.gelu(_dense(block["wide"], _norm(block["norms"][1], x)), approximate=False)
    return x + _dense(block["narrow"], wide)


def _attention(query: Any, key: Any, value: Any) -> Any:
    half = query.dtype == jnp.bfloat16 and jax.default_backend() == "gpu"
    implementation = "cudnn" if half else "xla"
    return jax.nn.dot_product_attention(
        query, key, value, is_causal=True, implementation=implementation
    )


def _forward(weights: Any, tokens: Any, heads: int) -> Any:
    x = weights["tokens"][tokens] + weights["positions"][: tokens.shape[1]]
    for block in weights["blocks"]:
        x = _rest(block, x, _attention(*_qkv(block, x, heads)))
    return _norm(weights["norm"], x) @ weights["tokens"].T


def _generate(weights: Any, prompt: Any, heads: int, generated: int) -> Any:
    length = prompt.shape[1]
    x, caches = weights["tokens"][prompt] + weights["positions"][:length], []
    for block in weights["blocks"]:
        query, *new = _qkv(block, x, heads)
        x = _rest(block, x, _attention(query, *new))
        room = ((0, 0), (0, 0), (0, generated), (0, 0))
        caches.append([jnp.pad(part.swapaxes(1, 2), room) for part in new])

    def likeliest(x: Any) -> Any:
        return jnp.argmax(_norm(weights["norm"], x) @ weights["tokens"].T, -1)

    def one_more(state: Any, at: Any) -> Any:
        token, caches = state
        x, left = weights["tokens"][token] + weights["positions"][at], []
        for block, cache in zip(weights["blocks"], caches, strict=True):
            query, *new = _qkv(block, x, heads)
            keys, values = (
                jax.lax.dynamic_update_slice(kept, part[:, :, None], (0, 0, at, 0))
                for kept, part in zip(cache, new, strict=True)
            )
            scores = jnp.einsum("bhd,bhld->bhl", query, keys) / query.shape[-1] ** 0.5
            scores = jnp.where(jnp.arange(keys.shape[2]) <= at, scores.astype(jnp.float32), -1e30)
            shares = jax.nn.softmax(scores).astype(x.dtype)
            x = _rest(block, x, jnp.einsum("bhl,bhld->bhd", shares, values))
            left.append([keys, values])
        token = likeliest(x)
        return (token, left), token

    first = likeliest(x[:, -1])
    _, rest = jax.lax.scan(one_more, (first, caches), length + jnp.arange(generated - 1))
    return jnp.concatenate([first[None], rest]).T
