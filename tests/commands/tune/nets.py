"""A small network that tells four patterns apart, and images of them; nothing is trained."""

from __future__ import annotations

import numpy as np

from assay.native import ops, reference
from assay.native.graph_builder import GraphBuilder

CLASSES, SIDE = 4, 8


def pictures(count, seed=1, noise=2.4):
    """A pattern for each class, under noise: about one in fifteen cannot be told."""
    patterns = np.random.default_rng(0).normal(size=(CLASSES, 2, SIDE, SIDE))
    random = np.random.default_rng(seed)
    labels = random.integers(0, CLASSES, count)
    inputs = patterns[labels] + noise * random.normal(size=(count, 2, SIDE, SIDE))
    return inputs.astype(np.float32), labels


def net(name="patterns"):
    """Two convolutions of random filters, and a dense layer fitted by least squares."""
    held, labels = pictures(600, seed=7)
    random = np.random.default_rng(2)
    building = GraphBuilder()
    value = building.add_input("input", (2, SIDE, SIDE)).value
    for number, (out, into) in enumerate(((16, 2), (16, 16)), 1):
        weight = building.constant(f"w{number}", random.normal(size=(out, into, 3, 3)) / into)
        value = building.add(f"conv{number}", ops.ConvOp(weight, pads=(1, 1, 1, 1)), value)
        value = building.add(f"relu{number}", ops.ActivationOp("relu"), value)
    size = 16 * SIDE * SIDE
    value = building.add("flat", ops.ReshapeOp((size,)), value)
    features = reference.outputs(building.graph(name, [value]), held)[0].astype(np.float64)
    wanted = np.eye(CLASSES)[labels]
    inner = features @ features.T + 100 * np.eye(len(features))
    fitted = (features.T @ np.linalg.solve(inner, wanted)).T
    dense = ops.DenseOp(building.constant("w3", fitted))
    return building.graph(name, [building.add("dense", dense, value)])
