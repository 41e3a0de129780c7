"""VGG16 in JAX."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp

from loops import PLAN


def make(wish: dict[str, Any], batch: int, image: int, **_: int) -> Any:
    jax.config.update("jax_default_matmul_precision", wish.get("products", "default"))
    dtype = jnp.bfloat16 if wish.get("pure") else jnp.float32
    keys = iter(jax.random.split(jax.random.key(0), 40))
    glorot = jax.nn.initializers.glorot_uniform()
    weights = [
        (glorot(next(keys), s, dtype), jax.random.uniform(next(keys), s[-1:], dtype, -0.05, 0.05))
        for s in _shapes(image)
    ]
    inputs = jax.random.uniform(next(keys), (batch, image, image, 3), dtype, -1, 1)
    labels = jax.random.randint(next(keys), (batch,), 0, 1000)

    def loss(weights: Any) -> Any:
        scores = jax.nn.log_softmax(_forward(weights, inputs))
        return -jnp.take_along_axis(scores, labels[:, None], 1).mean()

    @jax.jit
    def update(weights: Any) -> Any:
        slopes = jax.grad(loss)(weights)
        return jax.tree.map(lambda w, g: w - 0.01 * g, weights, slopes)

    state = [weights]

    def step() -> Any:
        state[0] = update(state[0])
        return state[0]

    return step, jax.block_until_ready


def _shapes(image: int) -> list[tuple[int, ...]]:
    widths = [3, *(width for width in PLAN if width)]
    convolutions = [(3, 3, before, after) for before, after in itertools.pairwise(widths)]
    return [*convolutions, (512 * (image // 32) ** 2, 4096), (4096, 4096), (4096, 1000)]


def _forward(weights: Any, x: Any) -> Any:
    rest = iter(weights)
    for width in PLAN:
        if width:
            kernel, bias = next(rest)
            x = jax.lax.conv_general_dilated(
                x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = jax.nn.relu(x + bias)
        else:
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = x.reshape(len(x), -1)
    for index, (kernel, bias) in enumerate(rest):
        x = x @ kernel + bias
        x = jax.nn.relu(x) if index < 2 else x
    return x
