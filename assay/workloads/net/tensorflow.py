"""A Net in TensorFlow: a tf.Module with variables, and tf.nn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.workloads.net.layers import (
    EPSILON,
    MOMENTUM,
    Conv,
    Dense,
    Dropout,
    Flatten,
    Layer,
    Norm,
    Pool,
)
from assay.workloads.net.nets import Net


def model(net: Net, arrays: Mapping[str, Any]) -> Any:
    """Called with inputs, `training`, `data_format` and, for other precisions, `weights`."""
    import tensorflow as tf

    class Network(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            # a separate list: tf.Module would sort them by name, kernel 10 before kernel 2
            self.weights = [tf.Variable(array) for array in arrays.values()]
            self.averages = [
                (tf.Variable(tf.zeros(shape[-1])), tf.Variable(tf.ones(shape[-1])))
                for layer, shape in zip(net.layers, net.shapes(), strict=False)
                if isinstance(layer, Norm)
            ]

        def __call__(
            self,
            inputs: Any,
            training: bool = False,
            data_format: str = "channels_last",
            weights: Any = None,
        ) -> Any:
            left, values = iter(weights or self.weights), inputs
            averages = iter(self.averages)
            for layer in net.layers:
                if isinstance(layer, Conv | Dense):
                    values = _linear(layer, next(left), next(left), values, data_format)
                elif isinstance(layer, Norm):
                    last, batch = data_format == "channels_last", training or not layer.running
                    norm = _BatchNorm(layer, next(left), next(averages), last)
                    values = (
                        norm.normalize_by_batch(values, training)
                        if batch
                        else norm.normalize_by_averages(values)
                    )
                elif isinstance(layer, Dropout):
                    values = tf.nn.dropout(values, layer.rate) if training else values
                else:
                    values = _plain(layer, values, data_format)
            return values

    return Network()


def _linear(layer: Conv | Dense, kernel: Any, bias: Any, values: Any, data_format: str) -> Any:
    import tensorflow as tf

    if isinstance(layer, Dense):
        return tf.nn.bias_add(tf.linalg.matmul(values, kernel), bias)
    axes = "NHWC" if data_format == "channels_last" else "NCHW"
    outputs = tf.nn.conv2d(values, kernel, 1, str(layer.padding).upper(), data_format=axes)
    return tf.nn.bias_add(outputs, bias, data_format=axes)


class _BatchNorm:
    """A batch norm, by single operations or TensorFlow's fused one."""

    def __init__(self, norm: Norm, offset: Any, averages: Any, last: bool) -> None:
        import tensorflow as tf

        self._norm, self._averages, self._last = norm, averages, last
        self._offset = tf.cast(offset, tf.float32)

    def normalize_by_batch(self, values: Any, training: bool) -> Any:
        import tensorflow as tf

        if self._norm.fused:
            outputs, *statistics = self._fused_norm(values, True)
        else:
            exact = tf.cast(values, tf.float32)
            statistics = tf.nn.moments(exact, (0, 1, 2) if self._last else (0, 2, 3))
            outputs = self._single(values, *statistics)
        if training and self._norm.running:
            for average, new in zip(self._averages, statistics, strict=True):
                average.assign(MOMENTUM * average + (1 - MOMENTUM) * new)
        return outputs

    def normalize_by_averages(self, values: Any) -> Any:
        if self._norm.fused:
            return self._fused_norm(values, False)[0]
        return self._single(values, *self._averages)

    def _single(self, values: Any, mean: Any, variance: Any) -> Any:
        import tensorflow as tf

        wide = (-1,) if self._last else (-1, 1, 1)
        mean, variance, offset = (tf.reshape(part, wide) for part in (mean, variance, self._offset))
        exact = tf.cast(values, tf.float32)
        outputs = tf.nn.batch_normalization(exact, mean, variance, offset, None, EPSILON)
        return tf.cast(outputs, values.dtype)

    def _fused_norm(self, values: Any, batch: bool) -> Any:
        import tensorflow as tf

        mean, variance = (None, None) if batch else self._averages
        return tf.compat.v1.nn.fused_batch_norm(
            values,
            scale=tf.ones_like(self._offset),
            offset=self._offset,
            mean=mean,
            variance=variance,
            epsilon=EPSILON,
            data_format="NHWC" if self._last else "NCHW",
            is_training=batch,
        )


def _plain(layer: Layer, values: Any, data_format: str) -> Any:
    import tensorflow as tf

    last = data_format == "channels_last"
    match layer:
        case Pool(size):
            return tf.nn.max_pool2d(values, size, size, "VALID", "NHWC" if last else "NCHW")
        case Flatten():
            # the rows of the next kernel are (h, w, c)
            values = values if last else tf.transpose(values, (0, 2, 3, 1))
            return tf.reshape(values, (values.shape[0], -1))
    return tf.nn.relu(values)
