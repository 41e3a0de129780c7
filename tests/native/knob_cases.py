"""Layers of many shapes, with a knob each, and how near a program has to come to the oracle."""

from __future__ import annotations

import numpy as np

from assay.native import ops, reference
from assay.native.build import build
from assay.native.emit import emit
from assay.native.knobs.applying import applied
from assay.native.passes.pipeline import optimized
from tests.native.built import loaded_outputs
from tests.native.making import Making


def signed(made, *shape):
    name = f"constant{len(made.building.constants)}"
    return made.building.constant(name, made.random.normal(0, 1, shape))


def conv(seed):
    """A convolution of a drawn shape with what may follow it; its input is a convolution's."""
    random = np.random.default_rng(seed)
    kernel = int(random.choice([1, 1, 2, 3, 3, 5]))
    size = [int(each) for each in random.integers(kernel + 1, 12, 2)]
    channels, out = (int(each) for each in random.choice([1, 3, 4, 8, 17, 20, 33, 70], 2))
    made = Making(channels, *size)
    made.random = random
    pads = tuple(int(each) for each in random.integers(0, kernel, 4))
    strides = tuple(int(each) for each in random.choice([1, 1, 2], 2))
    dilated = kernel > 1 and min(size) > 2 * kernel and random.random() < 0.2
    op = ops.ConvOp(
        signed(made, out, channels, kernel, kernel),
        signed(made, out) if random.random() < 0.8 else "",
        strides,
        pads,
        (1, 2) if dilated else (1, 1),
    )
    value = made.building.add("layer", op, made.input)
    if random.random() < 0.3:
        other = made.building.add("side", op, made.input)
        value = made.add(ops.BinaryOp("add"), value, other)
    kind = str(random.choice(["relu", "tanh", "none", "silu"]))
    if kind != "none":
        value = made.add(ops.ActivationOp(kind), value)
    if min(made.building.shapes[value][1:]) > 1 and random.random() < 0.4:
        value = made.add(ops.PoolOp("max", (2, 2), (2, 2)), value)
    return made.graph(value)


def items_for(graph, count, seed=1):
    random = np.random.default_rng(seed)
    return random.normal(0, 1, (count, *graph.inputs[0].shape)).astype(np.float32)


def computed(graph, knobs, tools, cache, images, threads=1):
    """What a program with knobs gives, and what the oracle does."""
    changed = applied(optimized(graph), knobs, (images,))
    emitted = emit(changed)
    built = build(emitted, tools, cache)
    wanted = reference.outputs(changed, images, dtype=np.float64)[0]
    found = loaded_outputs(emitted, built, images, len(images), threads)
    return found, wanted, changed
