"""A small network with all that HPVM has operations for, and its graph."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import numpy as np

from assay.native import ops
from assay.native.emit import emit
from assay.native.graph import Graph
from assay.native.hpvm.recording import read_recording
from assay.native.passes.pipeline import optimize
from tests.native.making import Making

IMAGES = np.random.default_rng(4).normal(size=(10, 4, 8, 8)).astype(np.float32)


def residual_net() -> Graph:
    """Two convolutions around a sum, one of them in groups, both pools, a norm, a dense layer."""
    making = Making(4, 8, 8)
    first = making.conv(making.input, 8, 3, pads=(1, 1, 1, 1))
    first = making.add(ops.ActivationOp("tanh"), first)
    body = making.conv(first, 8, 3, pads=(1, 1, 1, 1), groups=4)
    body = making.norm(body)
    total = making.add(ops.BinaryOp("add"), body, first)
    total = making.add(ops.ActivationOp("relu"), total)
    pooled = making.add(ops.PoolOp("max", (2, 2), (2, 2)), total)
    pooled = making.add(ops.PoolOp("average", (2, 2), (2, 2)), pooled)
    flat = making.add(ops.ReshapeOp((32,)), pooled)
    dense = making.add(ops.DenseOp(making.constant(10, 32), making.constant(10)), flat)
    return making.graph(making.add(ops.SoftmaxOp(), dense))


def ran(binary, folder, *words, **variables):
    """As a user starts it: nothing of assay is in its environment but what is given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY")}
    return subprocess.run(
        [str(binary), *words],
        cwd=folder,
        env={**kept, "ASSAY_CHOOSE": "0", "ASSAY_THREADS": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def fresh_pipes(folder):
    """To the tuner's binary and from it."""
    pipes = folder / "hpvm_fifo_r", folder / "hpvm_fifo_w"
    for pipe in pipes:
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
    return pipes


def launched(binary, folder):
    """The graph that a binary writes down when it is launched and finds no model."""
    alone, keeper = folder / "alone", folder / "keep"
    alone.mkdir()
    shutil.copy(binary, alone)
    keeper.write_text(f"#!/bin/sh\ncp -r \"$1\" '{folder}/described'\nexit 1\n")
    keeper.chmod(0o755)
    assert ran(alone / binary.name, folder, ASSAY_HPVM_BUILD=str(keeper)).returncode != 0
    return read_recording(folder / "described")


def network_of(graph: Graph) -> str:
    """What the runtime is told of a graph; names of layers and weights are numbers."""
    body = emit(optimize(graph)).source.partition("{\n")[2].partition("\n}")[0]
    names: dict[str, str] = {}
    return re.sub(r'\bv_\w+|"[^"]*"', lambda it: names.setdefault(it[0], str(len(names))), body)
