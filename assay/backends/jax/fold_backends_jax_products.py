"""The products and convolutions of a traced JAX function: how many multiply-adds, in which dtypes.

XLA's own cost analysis counts element-wise work too, leaves out what falls on padding, and takes
the body of a loop once; what is compared with other frameworks has to be counted as they do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax


class Product(NamedTuple):
    multiply_adds: float
    dtypes: frozenset[str]


def products(traced: Any) -> list[Product]:  # noqa: ANN401 (what jax.make_jaxpr gives)
    return list(_products(traced.jaxpr, 1))


def _products(jaxpr: Any, times: int) -> Iterator[Product]:  # noqa: ANN401
    """Those of inner functions too. Of a loop whose length no one knows, the body once."""
    for operation in jaxpr.eqns:
        name = operation.primitive.name
        if name in _COUNTS:
            kinds = (part.aval.dtype for part in operation.invars)
            floating = (
                kind.name for kind in kinds if jax.numpy.issubdtype(kind, jax.numpy.floating)
            )
            yield Product(times * _COUNTS[name](operation), frozenset(floating))
        for inner in _inner(operation):
            yield from _products(inner, times * operation.params.get("length", 1))


def _inner(operation: Any) -> Iterator[Any]:  # noqa: ANN401
    for value in operation.params.values():
        for part in value if isinstance(value, tuple | list) else (value,):
            inner = getattr(part, "jaxpr", part)
            if hasattr(inner, "eqns"):
                yield inner


def _product(operation: Any) -> float:  # noqa: ANN401
    (contracted, _), _ = operation.params["dimension_numbers"]
    left = operation.invars[0].aval.shape
    return float(operation.outvars[0].aval.size * math.prod(left[axis] for axis in contracted))


def _convolution(operation: Any) -> float:  # noqa: ANN401
    """Zeros between the inputs, as in a transposed convolution, are no work."""
    kernel, out = operation.invars[1].aval, operation.outvars[0].aval
    filters = kernel.shape[operation.params["dimension_numbers"].rhs_spec[0]]
    return float(out.size * kernel.size / filters / math.prod(operation.params["lhs_dilation"]))


def _attention(operation: Any) -> float:  # noqa: ANN401
    """cuDNN's: queries by keys, and what they weigh by values; (batch, length, heads, depth)."""
    query, key = (operation.invars[place].aval for place in range(2))
    return float(2 * query.size * key.shape[1])


_COUNTS: dict[str, Callable[[Any], float]] = {
    "dot_general": _product,
    "conv_general_dilated": _convolution,
    "dot_product_attention_fwd_wrapper": _attention,
}
