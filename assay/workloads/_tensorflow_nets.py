"""A Net as plain TensorFlow: a tf.Module that holds variables, and tf.nn."""

from __future__ import annotations

from typing import Any

from assay.workloads.nets import Conv, Dense, Dropout, Flatten, Layer, Net, Pool


def model(net: Net, arrays: list[Any]) -> Any:  # noqa: ANN401 (a tf.Module)
    """Called with inputs, `training`, `data_format` and, for other precisions, `weights`."""
    import tensorflow as tf

    class Network(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            # a list of their own: tf.Module would sort them by name, kernel 10 before kernel 2
            self.weights = [tf.Variable(array) for array in arrays]

        def __call__(
            self,
            inputs: Any,  # noqa: ANN401
            training: bool = False,
            data_format: str = "channels_last",
            weights: Any = None,  # noqa: ANN401
        ) -> Any:  # noqa: ANN401
            left, values = iter(weights or self.weights), inputs
            for layer in net.layers:
                if isinstance(layer, Conv | Dense):
                    values = _weighted(layer, next(left), next(left), values, data_format)
                elif isinstance(layer, Dropout):
                    values = tf.nn.dropout(values, layer.rate) if training else values
                else:
                    values = _plain(layer, values, data_format)
            return values

    return Network()


def _weighted(layer: Conv | Dense, kernel: Any, bias: Any, values: Any, data_format: str) -> Any:  # noqa: ANN401
    import tensorflow as tf

    if isinstance(layer, Dense):
        return tf.nn.bias_add(tf.linalg.matmul(values, kernel), bias)
    axes = "NHWC" if data_format == "channels_last" else "NCHW"
    found = tf.nn.conv2d(values, kernel, 1, layer.padding.upper(), data_format=axes)
    return tf.nn.bias_add(found, bias, data_format=axes)


def _plain(layer: Layer, values: Any, data_format: str) -> Any:  # noqa: ANN401
    import tensorflow as tf

    last = data_format == "channels_last"
    match layer:
        case Pool(size):
            return tf.nn.max_pool2d(values, size, size, "VALID", "NHWC" if last else "NCHW")
        case Flatten():
            # the rows of the next kernel stand for (h, w, c)
            values = values if last else tf.transpose(values, (0, 2, 3, 1))
            return tf.reshape(values, (values.shape[0], -1))
    return tf.nn.relu(values)
