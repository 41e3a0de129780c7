"""Weights to start training from, where a recipe does not take the network's own."""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np

from assay.core.recipe import Initial


def set_initial_weights(model: Any, initial: Initial, seed: int) -> None:  # noqa: ANN401 (a keras.Model)
    """He et al. (2015): normal, with a variance of 2 / fan-in; biases 0.

    A dropout before a layer makes its inputs larger in training, and so its weights smaller here:
    eight of them in a row would make the first loss of VGG16 five times as large as a guess.

    Fixup (Zhang et al., 2019) for branches of two convolutions: the last is 0 and the first is
    smaller by the square root of their number, so that at first the branches say nothing.
    """
    if initial == "own":
        return
    random = np.random.default_rng([seed, 2])
    branches = _branches(model) if initial == "quiet-branches" else []
    scales = {id(last): 0.0 for _, last in branches}
    scales |= {id(first): 1 / math.sqrt(len(branches)) for first, _ in branches}
    kept = 1.0  # of the inputs of the next layer
    for layer in model.layers:
        if isinstance(layer, keras.layers.Dropout):
            kept *= 1 - layer.rate
        elif isinstance(layer, keras.layers.Conv2D | keras.layers.Dense):
            kernel, *bias = layer.get_weights()
            spread = math.sqrt(2 * kept / math.prod(kernel.shape[:-1])) * scales.get(id(layer), 1.0)
            kept = 1.0
            drawn = spread * random.standard_normal(kernel.shape, dtype=np.float32)
            layer.set_weights([drawn, *map(np.zeros_like, bias)])


def _branches(model: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401
    """First and last convolution of each residual branch; a 1x1 shortcut is none."""
    found = []
    for layer in model.layers:
        if isinstance(layer, keras.layers.Add):
            chains = [_convolutions(tensor) for tensor in layer.input]
            found += [(chain[-1], chain[0]) for chain in chains if len(chain) > 1]
    return found


def _convolutions(tensor: Any) -> list[Any]:  # noqa: ANN401
    """Those before a tensor, the last first, back to where the ways part."""
    found = []
    layer = tensor._keras_history.operation
    while len(layer._outbound_nodes) == 1:
        if isinstance(layer, keras.layers.Conv2D):
            found.append(layer)
        layer = layer.input._keras_history.operation
    return found
