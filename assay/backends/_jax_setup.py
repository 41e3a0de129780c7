"""What JAX is told before a model is built, for Keras on JAX and for JAX alone."""

from __future__ import annotations

from collections.abc import Callable

import jax

from assay.backends import _options
from assay.records import Case, Value

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
    device = jax.devices()[0]
    return {
        "device": f"{device.platform} {device.device_kind}",
        "matmul_precision": jax.config.jax_default_matmul_precision or "default",
    }
