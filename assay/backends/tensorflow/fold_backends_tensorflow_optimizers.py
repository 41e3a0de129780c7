"""Four optimizers by TensorFlow's own kernels, with Keras' constants so that all do the same."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

_SLOTS = {"sgd": 0, "momentum": 1, "rmsprop": 2, "adam": 2}


class TensorFlowOptimizer:
    """Slots for each weight, and the update of one step."""

    def __init__(self, name: str, rate: float, weights: list[Any]) -> None:
        self._apply, self._rate, self._weights = getattr(self, f"_{name}"), rate, weights
        count = _SLOTS[name]
        self._slots = [
            [tf.Variable(tf.zeros_like(weight)) for _ in range(count)] for weight in weights
        ]
        self._count = tf.Variable(0.0)

    def update(self, gradients: list[Any]) -> None:
        self._count.assign_add(1.0)
        for weight, slots, gradient in zip(self._weights, self._slots, gradients, strict=True):
            handles = [slot.handle for slot in slots]
            self._apply(weight.handle, handles, gradient, tf.cast(self._rate, weight.dtype))

    def _sgd(self, weight: Any, slots: list[Any], gradient: Any, rate: Any) -> None:  # noqa: ANN401
        tf.raw_ops.ResourceApplyGradientDescent(var=weight, alpha=rate, delta=gradient)

    def _momentum(self, weight: Any, slots: list[Any], gradient: Any, rate: Any) -> None:  # noqa: ANN401
        tf.raw_ops.ResourceApplyMomentum(
            var=weight, accum=slots[0], lr=rate, grad=gradient, momentum=tf.cast(0.9, rate.dtype)
        )

    def _rmsprop(self, weight: Any, slots: list[Any], gradient: Any, rate: Any) -> None:  # noqa: ANN401
        rho, momentum, epsilon = (tf.cast(value, rate.dtype) for value in (0.9, 0.0, 1e-7))
        tf.raw_ops.ResourceApplyRMSProp(
            var=weight,
            ms=slots[0],
            mom=slots[1],
            lr=rate,
            rho=rho,
            momentum=momentum,
            epsilon=epsilon,
            grad=gradient,
        )

    def _adam(self, weight: Any, slots: list[Any], gradient: Any, rate: Any) -> None:  # noqa: ANN401
        powers = (tf.cast(beta**self._count, rate.dtype) for beta in (0.9, 0.999))
        beta1, beta2, epsilon = (tf.cast(value, rate.dtype) for value in (0.9, 0.999, 1e-7))
        tf.raw_ops.ResourceApplyAdam(
            var=weight,
            m=slots[0],
            v=slots[1],
            beta1_power=next(powers),
            beta2_power=next(powers),
            lr=rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            grad=gradient,
        )
