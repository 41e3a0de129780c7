"""A Net in JAX: a pure function and its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.errors import EndingError
from assay.workloads.net.layers import (
    EPSILON,
    MOMENTUM,
    NO_FUSED,
    Conv,
    Dense,
    Dropout,
    Flatten,
    Layer,
    Norm,
    Pool,
)
from assay.workloads.net.nets import Net


def model(net: Net, arrays: Mapping[str, Any]) -> tuple[Any, ...]:
    """`apply(params, inputs, key=None, data_format=…)` and its params; a key means training.

    Running averages of a net are the third part: `apply` then takes them as `state`, and returns
    the outputs and the new ones.
    """
    import jax
    import jax.numpy as jnp

    if any(isinstance(layer, Norm) and layer.fused for layer in net.layers):
        raise EndingError("skipped", NO_FUSED["jax"])
    params = _by_layer(arrays)

    def apply(
        params: Any,
        inputs: Any,
        key: Any = None,
        data_format: str = "channels_last",
        state: Any = (),
    ) -> Any:
        left, averages, values = iter(params), Averages(state, key is not None), inputs
        for layer in net.layers:
            if isinstance(layer, Conv | Dense):
                values = _linear(layer, next(left), values, data_format)
            elif isinstance(layer, Norm):
                values = _batch_norm(layer, next(left)["beta"], averages, values, data_format)
            elif isinstance(layer, Dropout):
                if key is not None:
                    key, dropout_key = jax.random.split(key)
                    values = _dropout(values, layer.rate, dropout_key)
            else:
                values = _plain(layer, values, data_format)
        return (values, averages.new) if state else values

    state = [
        {"mean": jnp.zeros(shape[-1]), "variance": jnp.ones(shape[-1])}
        for layer, shape in zip(net.layers, net.shapes(), strict=False)
        if isinstance(layer, Norm) and layer.running
    ]
    return (apply, params, state) if state else (apply, params)


def _by_layer(arrays: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The weights of each layer with weights, in order."""
    import jax.numpy as jnp

    layers: dict[str, dict[str, Any]] = {}
    for name, array in arrays.items():
        layer, _, variable = name.partition("/")
        layers.setdefault(layer, {})[variable] = jnp.asarray(array)
    return list(layers.values())


class Averages:
    """Running averages of a net: the old ones are used, the new ones collected."""

    def __init__(self, old: Any, training: bool) -> None:
        self._old, self.training = iter(old), training
        self.new: list[Any] = []

    def statistics(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The statistics to normalize with: in training the batch's, which update the averages."""
        old = next(self._old)
        if not self.training:
            self.new.append(old)
            return old  # type: ignore[no-any-return]
        self.new.append({k: MOMENTUM * old[k] + (1 - MOMENTUM) * batch[k] for k in old})
        return batch


def _linear(layer: Conv | Dense, weights: Any, values: Any, data_format: str) -> Any:
    from jax import lax

    kernel, bias = weights["kernel"], weights["bias"]
    if isinstance(layer, Dense):
        return values @ kernel + bias
    axes = "NHWC" if data_format == "channels_last" else "NCHW"
    outputs = lax.conv_general_dilated(
        values, kernel, (1, 1), str(layer.padding).upper(), dimension_numbers=(axes, "HWIO", axes)
    )
    return outputs + (bias if axes == "NHWC" else bias[:, None, None])


def _batch_norm(
    norm: Norm,
    offset: Any,
    averages: Averages,
    values: Any,
    data_format: str,
) -> Any:
    import jax.numpy as jnp
    from jax import lax

    last = data_format == "channels_last"
    over, wide = ((0, 1, 2), (-1,)) if last else ((0, 2, 3), (-1, 1, 1))
    exact = values.astype(jnp.float32)
    statistics = {"mean": exact.mean(over), "variance": exact.var(over)}
    if norm.running:
        statistics = averages.statistics(statistics)
    mean, variance = statistics["mean"].reshape(wide), statistics["variance"].reshape(wide)
    outputs = (exact - mean) * lax.rsqrt(variance + EPSILON) + offset.reshape(wide)
    return outputs.astype(values.dtype)


def _plain(layer: Layer, values: Any, data_format: str) -> Any:
    import jax.numpy as jnp
    from jax import lax, nn

    last = data_format == "channels_last"
    match layer:
        case Pool(size):
            window = (1, size, size, 1) if last else (1, 1, size, size)
            return lax.reduce_window(values, -jnp.inf, lax.max, window, window, "VALID")
        case Flatten():
            # the rows of the next kernel are (h, w, c)
            values = values if last else values.transpose(0, 2, 3, 1)
            return values.reshape(len(values), -1)
    return nn.relu(values)


def _dropout(values: Any, rate: float, key: Any) -> Any:
    import jax
    import jax.numpy as jnp

    mask = jax.random.bernoulli(key, 1 - rate, values.shape)
    return jnp.where(mask, values / (1 - rate), 0).astype(values.dtype)
