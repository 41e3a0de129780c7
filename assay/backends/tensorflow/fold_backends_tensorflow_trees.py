"""Tensors in tuples and dicts, as models take and give them: cast, joined, looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf


def cast(tree: Any, dtype: Any) -> Any:  # noqa: ANN401
    """Floating-point tensors in this dtype; None leaves it to each."""

    def one(leaf: Any) -> Any:  # noqa: ANN401
        tensor = tf.convert_to_tensor(leaf)
        return tf.cast(tensor, dtype) if dtype and tensor.dtype.is_floating else tensor

    return tf.nest.map_structure(one, tree)


def dtype(tree: Any) -> Any:  # noqa: ANN401
    """Of the first floating point there is; else of whatever there is."""
    leaves = tf.nest.flatten(tree)
    return next((leaf.dtype for leaf in leaves if leaf.dtype.is_floating), leaves[0].dtype)


def as_array(tree: Any) -> Any:  # noqa: ANN401 (a numpy array)
    """float32; several outputs as one row of numbers."""
    arrays = [tf.cast(leaf, tf.float32).numpy() for leaf in tf.nest.flatten(tree)]
    return arrays[0] if len(arrays) == 1 else np.concatenate([array.ravel() for array in arrays])


def mean(outputs: Any, _: object) -> Any:  # noqa: ANN401
    """Of all that is floating point."""
    leaves = [leaf for leaf in tf.nest.flatten(outputs) if leaf.dtype.is_floating]
    return tf.add_n([tf.reduce_mean(leaf) for leaf in leaves])
