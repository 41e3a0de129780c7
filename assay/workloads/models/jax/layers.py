"""Layers as pure functions of their weights, for pictures in either layout; and weights as a tree.

Norms and softmaxes are computed in float32, whatever comes in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def tree(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """`a.0.kernel` → {"a": [{"kernel": …}]}, on the device; running averages are left out."""
    found: dict[str, Any] = {}
    for name, array in arrays.items():
        *path, variable = name.split(".")
        if not variable.startswith("moving_"):
            place = found
            for part in path:
                place = place.setdefault(part, {})
            place[variable] = jnp.asarray(array)
    return _with_lists(found)  # type: ignore[no-any-return]


def averages(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Of every batch norm, by its name: what it has seen on average."""
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
    """The batch norms of a net: the old averages in, the new ones gathered."""

    def __init__(self, old: Any, training: bool, last: bool, momentum: float, epsilon: float):  # noqa: ANN204
        self.new: dict[str, Any] = {}
        self._old, self._training, self._momentum, self._epsilon = old, training, momentum, epsilon
        self._over = (0, 1, 2) if last else (0, 2, 3)
        self._wide = (-1,) if last else (-1, 1, 1)

    def __call__(self, name: str, weights: Any, values: Any) -> Any:
        exact = values.astype(jnp.float32)
        used = old = self._old[name]
        if self._training:
            # both sums in one pass over the values, as a compiler fuses them
            mean = exact.mean(self._over)
            square = (exact**2).mean(self._over)
            used = {"mean": mean, "variance": jnp.maximum(square - mean**2, 0)}
            kept = self._momentum
            old = {part: kept * old[part] + (1 - kept) * used[part] for part in old}
        self.new[name] = old
        scale = weights["gamma"] * lax.rsqrt(used["variance"] + self._epsilon)
        offset = weights["beta"] - used["mean"] * scale
        found = exact * scale.reshape(self._wide) + offset.reshape(self._wide)
        return found.astype(values.dtype)


def layer_norm(weights: Any, values: Any, epsilon: float) -> Any:
    exact = values.astype(jnp.float32)
    mean = exact.mean(-1, keepdims=True)
    variance = ((exact - mean) ** 2).mean(-1, keepdims=True)
    found = (exact - mean) * lax.rsqrt(variance + epsilon)
    return (found * weights["gamma"] + weights["beta"]).astype(values.dtype)


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
    """`depthwise`: a kernel of its own for every channel, each a group."""
    used = weights[kernel]
    axes, groups = "NHWC" if last else "NCHW", 1
    if depthwise:
        used, groups = used.swapaxes(2, 3), used.shape[2]
    around = [(padding, padding)] * 2 if isinstance(padding, int) else padding
    found = lax.conv_general_dilated(
        values,
        used,
        (stride, stride),
        around,
        dimension_numbers=(axes, "HWIO", axes),
        feature_group_count=groups,
    )
    return found + along(weights["bias"], last) if "bias" in weights else found


def along(channels: Any, last: bool) -> Any:
    """A value for each channel, to be added to pictures of this layout."""
    return channels if last else channels[:, None, None]


def max_pool(values: Any, size: int, stride: int, last: bool, padding: Any = "VALID") -> Any:
    if not isinstance(padding, str):
        padding = _places(padding, padding, last, other=(0, 0))
    window, steps = (_places(one, one, last, other=1) for one in (size, stride))
    return lax.reduce_window(values, -jnp.inf, lax.max, window, steps, padding)


def _places(rows: Any, columns: Any, last: bool, other: Any) -> tuple[Any, ...]:
    return (other, rows, columns, other) if last else (other, other, rows, columns)


def mean_of_pixels(values: Any, last: bool) -> Any:
    return values.mean((1, 2) if last else (2, 3))


def dropped(values: Any, rate: float, key: Any, number: int) -> Any:
    """Without a key nothing is; `number` makes each drop of a net another."""
    if key is None or not rate:
        return values
    kept = jax.random.bernoulli(jax.random.fold_in(key, number), 1 - rate, values.shape)
    return jnp.where(kept, values / (1 - rate), 0).astype(values.dtype)
