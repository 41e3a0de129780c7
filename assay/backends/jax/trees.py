"""Trees of arrays, as models take and return them: cast, join, sample."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from assay.backends import options
from assay.core import fingerprint


def cast(tree: Any, dtype: Any) -> Any:
    """Convert floating-point arrays to this dtype; None: no conversion."""

    def convert(leaf: Any) -> Any:
        array = jnp.asarray(leaf)
        return array.astype(dtype) if dtype is not None and _floating(array) else array

    return jax.tree.map(convert, tree)


def dtype(tree: Any) -> Any:
    """Of the first floating-point array, else of the first."""
    leaves = jax.tree.leaves(tree)
    return next((leaf.dtype for leaf in leaves if _floating(leaf)), leaves[0].dtype)


def as_array(tree: Any) -> Any:
    """float32; several outputs are flattened and concatenated."""
    arrays = [np.asarray(leaf, np.float32) for leaf in jax.tree.leaves(tree)]
    return arrays[0] if len(arrays) == 1 else np.concatenate([array.ravel() for array in arrays])


def sample_output(tree: Any) -> tuple[tuple[int, ...], Any]:
    """The shape and sampled values of an output; several are concatenated first."""
    leaves = jax.tree.leaves(tree)
    if (
        len(leaves) != 1 or leaves[0].size <= fingerprint.MAX_VALUES
    ):  # indexing would have to be compiled
        array = as_array(tree)
        return array.shape, array.ravel()[fingerprint.sample_indices(array.size)]
    places = fingerprint.sample_indices(leaves[0].size)
    return leaves[0].shape, np.asarray(jnp.ravel(leaves[0])[places], np.float32)


def vary(tree: Any, number: int) -> Any:
    """The tree with other values, as `options.vary`, on the device."""
    return jax.tree.map(
        lambda leaf: jax.device_put(options.vary(np.asarray(leaf), number)) if number else leaf,
        tree,
    )


def read(tree: Any) -> float:
    """One value, which waits for its computation."""
    first = jax.tree.leaves(tree)[0]
    return float(first[(0,) * first.ndim])


def mean(outputs: Any, _: object) -> Any:
    """Of floating-point outputs."""
    return sum(jnp.mean(leaf) for leaf in jax.tree.leaves(outputs) if _floating(leaf))


def _floating(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jnp.floating))
