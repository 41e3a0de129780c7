"""Activation functions in numpy, as Keras defines them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from assay.native.ops import ActivationOp

Array = np.ndarray[Any, Any]

# Self-normalizing networks (Klambauer and others, 2017).
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805

# Monotonic functions may be swapped with a maximum.
# Not softsign: it is NaN for minus infinity, which a maximum would hide.
MONOTONIC = {"relu", "tanh", "sigmoid", "elu", "selu", "softplus", "exponential", "hard_sigmoid"}


def apply_activation(op: ActivationOp, values: Array) -> Array:
    if op.kind == "relu":
        result = _relu(values, op.alpha)
        return np.minimum(result, values.dtype.type(op.limit)) if op.limit else result
    if op.kind == "elu":
        return _elu(values, op.alpha)
    if op.kind == "clip":
        return np.asarray(np.clip(values, *map(values.dtype.type, (op.alpha, op.limit))))
    if op.kind == "levels":
        return _quantize(values, np.float32(op.alpha), np.float32(op.limit))
    return _PLAIN[op.kind](values).astype(values.dtype)


def _relu(values: Array, alpha: float) -> Array:
    if not alpha:  # no product: infinity times 0 is NaN
        return np.asarray(np.maximum(values, values.dtype.type(0)))
    return np.where(values > 0, values, values * values.dtype.type(alpha))


def _quantize(values: Array, low: np.float32, high: np.float32) -> Array:
    """In float32 as the runtime: the last bit can decide which level a number has."""
    steps = np.nan_to_num((values.astype(np.float32) - low) * (np.float32(256) / (high - low)))
    result: Array = np.floor(np.clip(steps, 0, 255)) * ((high - low) / np.float32(256)) + low
    return np.asarray(result.astype(values.dtype))


def _sigmoid(values: Array) -> Array:
    # exp(-x) would overflow far below zero
    return np.asarray(0.5 * (1 + np.tanh(0.5 * values)))


def _elu(values: Array, alpha: float) -> Array:
    return np.where(values > 0, values, values.dtype.type(alpha) * np.expm1(np.minimum(values, 0)))


def _selu(values: Array) -> Array:
    return np.asarray(_SELU_SCALE * _elu(values, _SELU_ALPHA))


def _erf(values: Array) -> Array:
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(values))


def _gelu(values: Array) -> Array:
    return np.asarray(0.5 * values * (1 + _erf(values / math.sqrt(2))))


def _gelu_tanh(values: Array) -> Array:
    inner = math.sqrt(2 / math.pi) * (values + 0.044715 * values**3)
    return np.asarray(0.5 * values * (1 + np.tanh(inner)))


def _hard_sigmoid(values: Array) -> Array:
    return np.asarray(np.clip(values + 3, 0, 6) / 6)


_PLAIN: dict[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "selu": _selu,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "silu": lambda values: values * _sigmoid(values),
    "softplus": lambda values: np.logaddexp(values, 0),
    "softsign": lambda values: values / (1 + np.abs(values)),
    "exponential": np.exp,
    "hard_sigmoid": _hard_sigmoid,
    "hard_silu": lambda values: values * _hard_sigmoid(values),
    "mish": lambda values: values * np.tanh(np.logaddexp(values, 0)),
    "sqrt": np.sqrt,
    "square": np.square,
    "abs": np.abs,
    "negative": np.negative,
    "reciprocal": np.reciprocal,
    "log": np.log,
    "erf": _erf,
    "sin": np.sin,
    "cos": np.cos,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "truncate": np.trunc,
    "sign": np.sign,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}
