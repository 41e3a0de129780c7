"""Backends: a file or a folder each. Retired backends of older tools are refused by name."""

from __future__ import annotations

from assay.core.contracts import Backend
from assay.core.errors import UsageError

_THEANO = "Theano ended in 2017, and Keras 3 does not run on it. Its nearest heir is keras-jax."
_CNTK = "CNTK ended in 2019, and Keras 3 does not run on it. Use keras-tensorflow or keras-torch."
_MXNET = "MXNet was retired in 2023, and Keras 3 does not run on it. Use keras-torch or keras-jax."

RETIRED = {
    "theano": _THEANO,
    "keras-theano": _THEANO,
    "cntk": _CNTK,
    "keras-cntk": _CNTK,
    "mxnet": _MXNET,
    "keras-mxnet": _MXNET,
}


def resolve(name: str) -> Backend | None:
    if name in RETIRED:
        raise UsageError(f"There is no backend named '{name}' any more.", hint=RETIRED[name])
    return None
