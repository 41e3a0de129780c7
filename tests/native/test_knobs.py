"""Every knob computes what the oracle says, on drawn shapes; the oracle says what HPVM does."""

from __future__ import annotations

import itertools

import msgspec
import numpy as np
import pytest

from assay.core.errors import NotPossibleError, UsageError
from assay.native import ops, reference
from assay.native.graph import Graph, Node
from assay.native.knobs.applying import applied
from assay.native.knobs.ranges import affine, whole_weights
from assay.native.knobs.sampling import sampled
from assay.native.knobs.table import KNOBS, knob, offered
from assay.native.passes.pipeline import optimized
from tests.native.knob_cases import Drawn, both, items_for, with_knobs
from tests.native.making import Making

PERFORATIONS = [n for n in KNOBS if KNOBS[n].name in ("perf", "perf_int8")]
SAMPLINGS = [n for n in KNOBS if KNOBS[n].name in ("samp", "samp_int8")]


def near(found, wanted, graph):
    """To float32's precision; but a number between two bytes may fall to either side."""
    coarse = max((node.scale for node in graph.nodes if node.dtype == "uint8"), default=0.0)
    off = np.abs(found - wanted)
    close = off <= 2e-5 * (1 + np.abs(wanted).max())
    return close.mean() >= (0.99 if coarse else 1.0) and off.max() <= 4 * coarse + 1e-3 * coarse


def drawn(seed, numbers):
    """A layer for each knob, and the knobs."""
    made = Drawn(seed)
    for at, number in enumerate(numbers):
        kernel = 1 if KNOBS[number].name == "low_rank" else 0
        made.dense(f"layer{at}") if KNOBS[number].kind == "dense" else made.conv(
            f"layer{at}", kernel
        )
    return made.graph(), {f"layer{at}": number for at, number in enumerate(numbers)}


def check(seed, numbers, tools, cache):
    graph, knobs = drawn(seed, numbers)
    changed, items = with_knobs(graph, knobs)
    for threads in (1, 2):
        found, wanted = both(changed, items, tools, cache, threads)
        wrong = [
            (number, np.abs(mine - right).max())
            for number, mine, right in zip(numbers, found, wanted, strict=True)
            if not np.all(np.abs(mine - right) <= 2e-5 * (1 + np.abs(right).max()))
        ]
        assert not wrong


SOME = [13, 13, 13, 12, 14, 121, 124, 127, 129, 133, 138, 231, 234, 237, 321, 329, 338, 431, 435, 439]


@pytest.mark.real("compiler")
def test_layers_with_knobs_compute_as_the_oracle(plain_tools, native_cache):
    check(1, SOME, plain_tools, native_cache)


@pytest.mark.real("compiler")
def test_layers_with_knobs_touch_only_their_own_memory(checked_tools, native_cache, tmp_path):
    from assay.native.build import build
    from assay.native.emit import emit
    from tests.native.built import program

    graph, knobs = drawn(2, SOME[::2])
    changed, items = with_knobs(graph, knobs)
    emitted = emit(changed)
    for number, each in enumerate(items):
        name = "test_input.bin" + (f".{number + 1}" if number else "")
        each.tofile(tmp_path / name)
    np.zeros(len(items[0]), np.uint32).tofile(tmp_path / "test_labels.bin")

    built = build(emitted, checked_tools, native_cache)
    ended = program(built, tmp_path, "--threads", "2", "--batch", "2")

    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.long
@pytest.mark.real("compiler")
@pytest.mark.parametrize("seed", range(40))
def test_every_knob_computes_as_the_oracle_on_many_shapes(seed, plain_tools, native_cache):
    every = [n for n in KNOBS if KNOBS[n].runs != "simulated" and KNOBS[n].kind != "reduce"]
    check(100 + seed, every, plain_tools, native_cache)
