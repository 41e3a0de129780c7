"""Settings of JAX before a model is built, for the backends jax and keras-jax."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import numpy as np

from assay.backends import data_parallel, options
from assay.core.records import Case, Value
from assay.stats.fast_algorithms import convolution_saving, product_saving

# By default JAX uses TF32 for float32 products on a GPU; other precisions keep its default.
_MATMUL = {"float32": "float32", "tf32": "tensorfloat32"}


def prepare(case: Case) -> None:
    options.check_device(case, f"JAX {jax.__version__}", jax.default_backend() == "gpu")
    jax.config.update("jax_default_matmul_precision", _MATMUL.get(str(case.options["precision"])))


@contextmanager
def open_devices(case: Case) -> Iterator[Any]:
    """The devices that share a batch, as a mesh; None for one device."""
    devices = data_parallel.count(case)
    data_parallel.check_seen(case, "JAX", len(jax.devices()))
    several = np.array(jax.devices()[:devices])
    yield jax.sharding.Mesh(several, ("batch",)) if devices > 1 else None


def shardings(mesh: Any) -> tuple[Any, Any]:
    """Shardings of a batch that is split over the devices, and of replicated arrays."""
    if mesh is None:
        return None, None
    sharding, axes = jax.sharding.NamedSharding, jax.sharding.PartitionSpec
    return sharding(mesh, axes("batch")), sharding(mesh, axes())


def macs(traced: Any) -> float:
    """Multiply-adds of the products and convolutions that JAX traces, before XLA sees them."""
    return sum(product.multiply_adds for product in products(traced))


def executed_macs(traced: Any) -> float:
    """Of the best algorithm that is known for each."""
    return sum(product.multiply_adds / product.saving for product in products(traced))


def product_dtypes(traced: Any) -> str:
    """Dtypes of all inputs of products and convolutions of a forward pass."""
    dtypes = (product.dtypes for product in products(traced))
    return " ".join(sorted(frozenset().union(*dtypes)))


def facts() -> dict[str, Value]:
    device, chosen = jax.devices()[0], jax.config.jax_default_matmul_precision
    return {
        "device": f"{device.platform} {device.device_kind}",
        "matmul_precision": chosen or "default",
        "tf32": chosen not in {"float32", "highest"},
    }


# Multiply-adds and dtypes of the products and convolutions of a traced JAX function.
#
# XLA's cost analysis also counts element-wise work, leaves out padding, and counts the body of a
# loop once; to compare with other frameworks, these have to be counted as there.


class Product(NamedTuple):
    multiply_adds: float
    dtypes: frozenset[str]
    saving: float  # counted by executed operations, at most


def products(traced: Any) -> list[Product]:
    return list(_products(traced.jaxpr, 1))


def _products(jaxpr: Any, times: int) -> Iterator[Product]:
    """With those of inner functions. The body of a loop of unknown length counts once."""
    for operation in jaxpr.eqns:
        name = operation.primitive.name
        if name in _COUNTS:
            kinds = (part.aval.dtype for part in operation.invars)
            floating = (
                kind.name for kind in kinds if jax.numpy.issubdtype(kind, jax.numpy.floating)
            )
            count = times * _COUNTS[name](operation)
            yield Product(count, frozenset(floating), _saving(operation))
        for inner in _inner(operation):
            yield from _products(inner, times * operation.params.get("length", 1))


def _inner(operation: Any) -> Iterator[Any]:
    for value in operation.params.values():
        for part in value if isinstance(value, tuple | list) else (value,):
            inner = getattr(part, "jaxpr", part)
            if hasattr(inner, "eqns"):
                yield inner


def _saving(operation: Any) -> float:
    shapes = [part.aval.shape for part in operation.invars[:2]]
    numbers = operation.params.get("dimension_numbers")
    if operation.primitive.name == "conv_general_dilated":
        out, into, *spatial = (shapes[1][axis] for axis in numbers.rhs_spec)
        pixels = (shapes[0][axis] for axis in numbers.lhs_spec[2:])
        return convolution_saving(spatial, (out, into, *pixels))
    if operation.primitive.name == "dot_general":
        return product_saving([size for shape in shapes for size in shape[-2:]])
    return 1.0


def _product(operation: Any) -> float:
    (contracted, _), _ = operation.params["dimension_numbers"]
    left = operation.invars[0].aval.shape
    return float(operation.outvars[0].aval.size * math.prod(left[axis] for axis in contracted))


def _convolution(operation: Any) -> float:
    """Zeros between inputs, as in a transposed convolution, do not count."""
    kernel, out = operation.invars[1].aval, operation.outvars[0].aval
    filters = kernel.shape[operation.params["dimension_numbers"].rhs_spec[0]]
    return float(out.size * kernel.size / filters / math.prod(operation.params["lhs_dilation"]))


def _attention(operation: Any) -> float:
    """cuDNN's: queries by keys, weights by values; (batch, length, heads, depth)."""
    query, key = (operation.invars[position].aval for position in range(2))
    return float(2 * query.size * key.shape[1])


_COUNTS: dict[str, Callable[[Any], float]] = {
    "dot_general": _product,
    "conv_general_dilated": _convolution,
    "dot_product_attention_fwd_wrapper": _attention,
}
