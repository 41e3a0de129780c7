"""All passes that make a graph cheaper and change no result, in the order that lets each help."""

from __future__ import annotations

from collections.abc import Callable

from assay.native.graph import Graph
from assay.native.passes.batch_norm import fold_batch_norm, fold_batch_norm_forward
from assay.native.passes.dead import drop_dead
from assay.native.passes.fusion import fuse_activations, fuse_residuals, pool_before_activation
from assay.native.passes.padding import fold_padding
from assay.native.passes.turning import join_turns, turn_dense_rows

PASSES: tuple[Callable[[Graph], Graph], ...] = (
    join_turns,
    turn_dense_rows,
    fold_padding,
    drop_dead,  # what is dead would still count as a reader
    fold_batch_norm,
    fold_batch_norm_forward,
    pool_before_activation,
    fuse_activations,
    fuse_residuals,  # after activations: a relu behind a sum goes along with it
    drop_dead,
)


def optimized(graph: Graph) -> Graph:
    """The same outputs from fewer operations. `fuse_pools` is left to who can make use of it."""
    for each in PASSES:
        graph = each(graph)
    return graph
