"""What JAX is told before a model is built, for Keras on JAX and for JAX alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from assay.backends import data_parallel, options
from assay.backends.jax.fold_backends_jax_products import products
from assay.core.records import Case, Value

# JAX lets a float32 product use TF32 on a GPU unless told; the other precisions stay as it likes.
_MATMUL = {"float32": "float32", "tf32": "tensorfloat32"}


def prepare(case: Case) -> None:
    options.check_device(case, f"JAX {jax.__version__}", jax.default_backend() == "gpu")
    jax.config.update("jax_default_matmul_precision", _MATMUL.get(str(case.options["precision"])))


@contextmanager
def shared_by(case: Case) -> Iterator[Any]:
    """The devices that share a batch, as a mesh; None where there is one."""
    devices = data_parallel.count(case)
    data_parallel.check_seen(case, "JAX", len(jax.devices()))
    several = np.array(jax.devices()[:devices])
    yield jax.sharding.Mesh(several, ("batch",)) if devices > 1 else None


def shardings(mesh: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """How a batch is split over the devices, and how each has all of something."""
    if mesh is None:
        return None, None
    made, axes = jax.sharding.NamedSharding, jax.sharding.PartitionSpec
    return made(mesh, axes("batch")), made(mesh, axes())


def macs(traced: Any) -> float:  # noqa: ANN401 (a jaxpr)
    """Multiply-adds of the products and convolutions that JAX traces, before XLA sees them."""
    return sum(product.multiply_adds for product in products(traced))


def product_dtypes(traced: Any) -> str:  # noqa: ANN401
    """Of all that goes into products and convolutions of a forward pass, whoever cast it."""
    found = (product.dtypes for product in products(traced))
    return " ".join(sorted(frozenset().union(*found)))


def facts() -> dict[str, Value]:
    device, chosen = jax.devices()[0], jax.config.jax_default_matmul_precision
    return {
        "device": f"{device.platform} {device.device_kind}",
        "matmul_precision": chosen or "default",
        "tf32": chosen not in {"float32", "highest"},
    }
