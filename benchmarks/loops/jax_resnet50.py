"""ResNet50 in JAX, trained with RMSprop."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from loops import STAGES


def make(wish: dict[str, Any], batch: int, image: int, narrower: int, **_: int) -> Any:
    weights = _weights(narrower)
    keys = jax.random.split(jax.random.key(1))
    inputs = jax.random.uniform(keys[0], (batch, image, image, 3), minval=-1)
    labels = jax.random.randint(keys[1], (batch,), 0, 1000)
    dtype = jnp.bfloat16 if wish.get("mixed") else jnp.float32

    def loss(weights: Any, averages: Any, inputs: Any, labels: Any) -> Any:
        cast = jax.tree.map(lambda leaf: leaf.astype(dtype), weights)
        logits, averages = _forward(cast, averages, inputs.astype(dtype))
        scores = jax.nn.log_softmax(logits.astype(jnp.float32))
        return -jnp.take_along_axis(scores, labels[:, None], 1).mean(), averages

    def update(state: Any, inputs: Any, labels: Any) -> Any:
        weights, averages, squares = state
        slopes, averages = jax.grad(loss, has_aux=True)(weights, averages, inputs, labels)
        squares = jax.tree.map(lambda s, g: 0.9 * s + 0.1 * g**2, squares, slopes)
        weights = jax.tree.map(
            lambda w, g, s: w - 0.001 * g / jnp.sqrt(s + 1e-7), weights, slopes, squares
        )
        return weights, averages, squares

    averages = [(jnp.zeros(n), jnp.ones(n)) for n in _norm_widths(weights)]
    state = [(weights, averages, jax.tree.map(jnp.zeros_like, weights))]
    step_function = jax.jit(update, donate_argnums=0)

    def step() -> Any:
        state[0] = step_function(state[0], inputs, labels)
        return state[0]

    return step, jax.block_until_ready


def _weights(narrower: int) -> Any:
    keys = iter(jax.random.split(jax.random.key(0), 200))

    def conv(size: int, before: int, filters: int) -> Any:
        kernel = jax.nn.initializers.he_normal()(next(keys), (size, size, before, filters))
        return {
            "kernel": kernel,
            "bias": jnp.zeros(filters),
            "scale": jnp.ones(filters),
            "offset": jnp.zeros(filters),
        }

    width = 64 // narrower
    blocks, before = [], width
    for filters, count, _ in STAGES:
        narrow = filters // narrower
        for index in range(count):
            block = [conv(1, before, narrow), conv(3, narrow, narrow), conv(1, narrow, 4 * narrow)]
            blocks.append([*block, conv(1, before, 4 * narrow)] if index == 0 else block)
            before = 4 * narrow
    head = jax.nn.initializers.glorot_uniform()(next(keys), (before, 1000)), jnp.zeros(1000)
    return {"stem": conv(7, 3, width), "blocks": blocks, "head": head}


def _norm_widths(weights: Any) -> list[int]:
    convs = [weights["stem"], *(conv for block in weights["blocks"] for conv in block)]
    return [len(conv["scale"]) for conv in convs]


def _forward(weights: Any, averages: Any, x: Any) -> Any:
    old, new = iter(averages), []

    def conv(one: Any, x: Any, stride: int = 1) -> Any:
        size = one["kernel"].shape[0] // 2
        x = jax.lax.conv_general_dilated(
            x,
            one["kernel"],
            (stride, stride),
            [(size, size)] * 2,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )
        wide = (x + one["bias"]).astype(jnp.float32)
        mean = wide.mean((0, 1, 2))
        variance = (wide**2).mean((0, 1, 2)) - mean**2
        means, variances = next(old)
        new.append((0.99 * means + 0.01 * mean, 0.99 * variances + 0.01 * variance))
        scale = one["scale"] * jax.lax.rsqrt(variance + 1.001e-5)
        return ((wide - mean) * scale + one["offset"]).astype(x.dtype)

    x = jax.nn.relu(conv(weights["stem"], x, 2))
    x = jax.lax.reduce_window(
        x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0))
    )
    strides = [stride if index == 0 else 1 for _, count, stride in STAGES for index in range(count)]
    for block, stride in zip(weights["blocks"], strides, strict=True):
        y = jax.nn.relu(conv(block[0], x, stride))
        y = conv(block[2], jax.nn.relu(conv(block[1], y)))
        x = jax.nn.relu(y + (conv(block[3], x, stride) if len(block) > 3 else x))
    kernel, bias = weights["head"]
    return x.mean((1, 2)) @ kernel + bias, new
