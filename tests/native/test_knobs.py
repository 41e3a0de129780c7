"""Every knob computes what the oracle says, on drawn shapes; the oracle says what HPVM does."""

from __future__ import annotations

import numpy as np
import pytest

from tests.native.knob_cases import computed, conv, items_for


def steps(graph):
    """The coarsest byte there is in a graph, which a number halfway between two may fall over."""
    return max((node.scale for node in graph.nodes if node.dtype == "uint8"), default=0.0)


@pytest.mark.real("compiler")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("number", [13, 123, 126, 325, 233, 431, 12])
def test_a_layer_with_a_knob_computes_as_the_oracle(number, seed, plain_tools, native_cache):
    graph = conv(seed)
    images = items_for(graph, 3)

    found, wanted, changed = computed(graph, {"layer": number}, plain_tools, native_cache, images)

    near = 2e-5 * (1 + np.abs(wanted).max())
    off = np.abs(found - wanted)
    assert off.max() <= near
