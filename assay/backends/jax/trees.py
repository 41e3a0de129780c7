"""Arrays in trees, as models take and give them: cast, joined, looked at."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from assay.core import fingerprint


def cast(tree: Any, dtype: Any) -> Any:
    """Floating-point arrays in this dtype; None leaves it to each."""

    def one(leaf: Any) -> Any:
        array = jnp.asarray(leaf)
        return array.astype(dtype) if dtype is not None and _floating(array) else array

    return jax.tree.map(one, tree)


def dtype(tree: Any) -> Any:
    """Of the first floating point there is; else of whatever there is."""
    leaves = jax.tree.leaves(tree)
    return next((leaf.dtype for leaf in leaves if _floating(leaf)), leaves[0].dtype)


def as_array(tree: Any) -> Any:
    """float32; several outputs as one row of numbers."""
    arrays = [np.asarray(leaf, np.float32) for leaf in jax.tree.leaves(tree)]
    return arrays[0] if len(arrays) == 1 else np.concatenate([array.ravel() for array in arrays])


def sampled(tree: Any) -> tuple[tuple[int, ...], Any]:
    """The shape, and some of one output; of several, of their row of numbers."""
    leaves = jax.tree.leaves(tree)
    if len(leaves) != 1 or leaves[0].size <= fingerprint.MOST:  # to pick would be to compile
        whole = as_array(tree)
        return whole.shape, whole.ravel()[fingerprint.places(whole.size)]
    places = fingerprint.places(leaves[0].size)
    return leaves[0].shape, np.asarray(jnp.ravel(leaves[0])[places], np.float32)


def read(tree: Any) -> float:
    """One number of it, which comes when the computation that makes it has ended."""
    first = jax.tree.leaves(tree)[0]
    return float(first[(0,) * first.ndim])


def mean(outputs: Any, _: object) -> Any:
    """Of all that is floating point."""
    return sum(jnp.mean(leaf) for leaf in jax.tree.leaves(outputs) if _floating(leaf))


def _floating(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jnp.floating))
