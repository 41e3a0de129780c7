"""Layers as pure functions of their weights, for images in either layout; weights as a tree.

Norms and softmaxes are computed in float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def tree(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """`a.0.kernel` → {"a": [{"kernel": …}]}, on the device; running averages are left out."""
    root: dict[str, Any] = {}
    for name, array in arrays.items():
        *path, variable = name.split(".")
        if not variable.startswith("moving_"):
            node = root
            for part in path:
                node = node.setdefault(part, {})
            node[variable] = jnp.asarray(array)
    return _with_lists(root)  # type: ignore[no-any-return]


def averages(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Running averages of every batch norm, by its name."""
    return {
        name.rpartition(".")[0]: {
            "mean": jnp.asarray(array),
            "variance": jnp.asarray(arrays[name.replace("_mean", "_variance")]),
        }
        for name, array in arrays.items()
        if name.endswith(".moving_mean")
    }


def _with_lists(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    inner = {name: _with_lists(value) for name, value in part.items()}
    return list(inner.values()) if all(name.isdecimal() for name in inner) else inner


class BatchNorms:
    """The batch norms of a net: they use the old averages and collect the new ones."""

    def __init__(self, old: Any, training: bool, last: bool, momentum: float, epsilon: float):  # noqa: ANN204
        self.new: dict[str, Any] = {}
        self._old, self._training, self._momentum, self._epsilon = old, training, momentum, epsilon
        self._over = (0, 1, 2) if last else (0, 2, 3)
        self._wide = (-1,) if last else (-1, 1, 1)

    def __call__(self, name: str, weights: Any, values: Any) -> Any:
        exact = values.astype(jnp.float32)
        used = old = self._old[name]
        if self._training:
            # both sums in one pass over the values, which a compiler fuses
            mean = exact.mean(self._over)
            square = (exact**2).mean(self._over)
            used = {"mean": mean, "variance": jnp.maximum(square - mean**2, 0)}
            momentum = self._momentum
            old = {part: momentum * old[part] + (1 - momentum) * used[part] for part in old}
        self.new[name] = old
        scale = weights["gamma"] * lax.rsqrt(used["variance"] + self._epsilon)
        offset = weights["beta"] - used["mean"] * scale
        outputs = exact * scale.reshape(self._wide) + offset.reshape(self._wide)
        return outputs.astype(values.dtype)


def layer_norm(weights: Any, values: Any, epsilon: float) -> Any:
    exact = values.astype(jnp.float32)
    mean = exact.mean(-1, keepdims=True)
    variance = ((exact - mean) ** 2).mean(-1, keepdims=True)
    normalized = (exact - mean) * lax.rsqrt(variance + epsilon)
    return (normalized * weights["gamma"] + weights["beta"]).astype(values.dtype)


def dense(weights: Any, values: Any) -> Any:
    return values @ weights["kernel"] + weights["bias"]


def conv(
    weights: Any,
    values: Any,
    last: bool,
    stride: int = 1,
    padding: int | str = 0,
    kernel: str = "kernel",
    depthwise: bool = False,
) -> Any:
    """`depthwise`: every channel has its own kernel and is a group."""
    weight = weights[kernel]
    axes, groups = "NHWC" if last else "NCHW", 1
    if depthwise:
        weight, groups = weight.swapaxes(2, 3), weight.shape[2]
    padding_pairs = [(padding, padding)] * 2 if isinstance(padding, int) else padding
    outputs = lax.conv_general_dilated(
        values,
        weight,
        (stride, stride),
        padding_pairs,
        dimension_numbers=(axes, "HWIO", axes),
        feature_group_count=groups,
    )
    return outputs + along(weights["bias"], last) if "bias" in weights else outputs


def along(channels: Any, last: bool) -> Any:
    """Values of channels, shaped for images of this layout."""
    return channels if last else channels[:, None, None]


def max_pool(values: Any, size: int, stride: int, last: bool, padding: Any = "VALID") -> Any:
    if not isinstance(padding, str):
        padding = _places(padding, padding, last, other=(0, 0))
    window, steps = (_places(side, side, last, other=1) for side in (size, stride))
    return lax.reduce_window(values, -jnp.inf, lax.max, window, steps, padding)


def _places(rows: Any, columns: Any, last: bool, other: Any) -> tuple[Any, ...]:
    return (other, rows, columns, other) if last else (other, other, rows, columns)


def mean_of_pixels(values: Any, last: bool) -> Any:
    return values.mean((1, 2) if last else (2, 3))


def apply_dropout(values: Any, rate: float, key: Any, number: int) -> Any:
    """Dropout, unless `key` is None; `number` makes the dropouts of a net independent."""
    if key is None or not rate:
        return values
    mask = jax.random.bernoulli(jax.random.fold_in(key, number), 1 - rate, values.shape)
    return jnp.where(mask, values / (1 - rate), 0).astype(values.dtype)
