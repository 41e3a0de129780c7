"""JAX by itself: a pure function of parameters, jitted whole."""

from __future__ import annotations

from assay.backends._framework import FrameworkBackend
from assay.contracts import Option

COMPILER = Option(
    default="on", choices=("on", "off"), help="jax.jit of the whole step, or op by op"
)

PROVIDES = {
    "jax": FrameworkBackend(name="jax", summary="JAX by itself", own={"compiler": COMPILER})
}
