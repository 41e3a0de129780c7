"""A Net as a JAX user writes it: a pure function, and the parameters it is called with."""

from __future__ import annotations

from typing import Any

from assay.workloads.nets import Conv, Dense, Dropout, Flatten, Layer, Net, Pool


def model(net: Net, arrays: list[Any]) -> tuple[Any, Any]:
    """`apply(params, inputs, key=None, data_format=…)` and its params; a key turns dropout on."""
    import jax
    import jax.numpy as jnp

    pairs = list(zip(arrays[::2], arrays[1::2], strict=True))
    params = [{"kernel": jnp.asarray(kernel), "bias": jnp.asarray(bias)} for kernel, bias in pairs]

    def apply(params: Any, inputs: Any, key: Any = None, data_format: str = "channels_last") -> Any:  # noqa: ANN401
        left, values = iter(params), inputs
        for layer in net.layers:
            if isinstance(layer, Conv | Dense):
                values = _weighted(layer, next(left), values, data_format)
            elif isinstance(layer, Dropout):
                if key is not None:
                    key, used = jax.random.split(key)
                    values = _dropout(values, layer.rate, used)
            else:
                values = _plain(layer, values, data_format)
        return values

    return apply, params


def _weighted(layer: Conv | Dense, weights: Any, values: Any, data_format: str) -> Any:  # noqa: ANN401
    from jax import lax

    kernel, bias = weights["kernel"], weights["bias"]
    if isinstance(layer, Dense):
        return values @ kernel + bias
    axes = "NHWC" if data_format == "channels_last" else "NCHW"
    found = lax.conv_general_dilated(
        values, kernel, (1, 1), layer.padding.upper(), dimension_numbers=(axes, "HWIO", axes)
    )
    return found + (bias if axes == "NHWC" else bias[:, None, None])


def _plain(layer: Layer, values: Any, data_format: str) -> Any:  # noqa: ANN401
    import jax.numpy as jnp
    from jax import lax, nn

    last = data_format == "channels_last"
    match layer:
        case Pool(size):
            window = (1, size, size, 1) if last else (1, 1, size, size)
            return lax.reduce_window(values, -jnp.inf, lax.max, window, window, "VALID")
        case Flatten():
            # the rows of the next kernel stand for (h, w, c)
            values = values if last else values.transpose(0, 2, 3, 1)
            return values.reshape(len(values), -1)
    return nn.relu(values)


def _dropout(values: Any, rate: float, key: Any) -> Any:  # noqa: ANN401
    import jax
    import jax.numpy as jnp

    kept = jax.random.bernoulli(key, 1 - rate, values.shape)
    return jnp.where(kept, values / (1 - rate), 0).astype(values.dtype)
