"""What JAX is told before a model is built, for Keras on JAX and for JAX alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax

from assay.backends import _options
from assay.records import Case, Value

_PRODUCTS = frozenset({"dot_general", "conv_general_dilated"})
# JAX lets a float32 product use TF32 on a GPU unless told; the other precisions stay as it likes.
_MATMUL = {"float32": "float32", "tf32": "tensorfloat32"}


def prepare(case: Case) -> None:
    _options.check_device(case, f"JAX {jax.__version__}", jax.default_backend() == "gpu")
    jax.config.update("jax_default_matmul_precision", _MATMUL.get(str(case.options["precision"])))


def macs(forward: Callable[..., object], *arguments: object) -> float:
    """Multiply-adds by XLA's own cost analysis, which counts each as two, before it compiles."""
    found = jax.jit(forward).lower(*arguments).cost_analysis() or {}
    return float(found.get("flops", 0.0)) / 2


def facts() -> dict[str, Value]:
    device, chosen = jax.devices()[0], jax.config.jax_default_matmul_precision
    return {
        "device": f"{device.platform} {device.device_kind}",
        "matmul_precision": chosen or "default",
        "tf32": chosen not in {"float32", "highest"},
    }


def product_dtypes(forward: Callable[..., object], *arguments: object) -> str:
    """Of all that goes into products and convolutions of a forward pass, whoever cast it."""
    operations = _operations(jax.make_jaxpr(forward)(*arguments).jaxpr)
    inputs = (
        part.aval.dtype
        for operation in operations
        if operation.primitive.name in _PRODUCTS
        for part in operation.invars
    )
    return " ".join(
        sorted({dtype.name for dtype in inputs if jax.numpy.issubdtype(dtype, jax.numpy.floating)})
    )


def _operations(jaxpr: Any) -> Iterator[Any]:  # noqa: ANN401
    """Those of inner functions too: of loops, branches and jitted parts."""
    for operation in jaxpr.eqns:
        yield operation
        for value in operation.params.values():
            for part in value if isinstance(value, tuple | list) else (value,):
                inner = getattr(part, "jaxpr", part)
                if hasattr(inner, "eqns"):
                    yield from _operations(inner)
