"""Quantize layers to int8; values between them stay bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from assay.native.activations import MONOTONIC
from assay.native.graph import Array, Graph, Node
from assay.native.ops import ActivationOp, CastOp, ConvOp, DenseOp, PoolOp, ReshapeOp
from assay.native.passes.rewrite import merge_pairs, replace_nodes, unused_name


def quantize_layers(graph: Graph, layers: set[str], values: Mapping[str, Array]) -> Graph:
    """Quantize weights and inputs of these layers; `values` are the graph's, for some items."""
    graph = _fuse_pools(_quantize_weights(graph, layers), layers)
    byte_values = _byte_values(graph, layers)
    nodes: dict[str, Node] = {}
    casts: dict[str, str] = {}
    for node in graph.nodes:
        source = node.input
        if node.name in layers and source not in byte_values:
            if source not in casts:
                cast = _cast(graph, source)
                casts[source] = cast.output
                nodes[cast.output] = _quantize_output(cast, values[source])
            inputs = (casts[source], *node.inputs[1:])
            node = msgspec.structs.replace(node, inputs=inputs)
        if node.output in byte_values:
            source_node = nodes[source] if node.name not in layers else None
            node = _quantize_output(node, values[node.output], source_node)
        nodes[node.output] = node
    return replace_nodes(graph, nodes.values())


def _cast(graph: Graph, value: str) -> Node:
    name = unused_name(f"{value}/int8", graph)
    shape = graph.shapes()[value]
    return Node(name=name, op=CastOp(), inputs=(value,), output=name, shape=shape)


def _quantize_output(node: Node, values: Array, source: Node | None = None) -> Node:
    """Quantize the node's output, with the best scale for the values or that of another node."""
    params = source or affine(values)
    return msgspec.structs.replace(node, dtype="uint8", scale=params.scale, zero=params.zero)


def _quantize_weights(graph: Graph, layers: set[str]) -> Graph:
    constants: dict[str, Array] = {}
    nodes = []
    for node in graph.nodes:
        if node.name in layers and isinstance(node.op, ConvOp | DenseOp):
            node = quantize_layer_weights(node, node.op, graph.constants[node.op.weight], constants)
        nodes.append(node)
    return replace_nodes(graph, nodes, constants)


def quantize_layer_weights(
    node: Node, op: ConvOp | DenseOp, weight: Array, constants: dict[str, Array]
) -> Node:
    """The layer with int8 weights, which are added to `constants` with their scales."""
    names = (f"{node.name}/int8", f"{node.name}/scales")
    constants |= zip(names, quantize_weights(weight), strict=True)
    op = msgspec.structs.replace(op, weight=names[0], scales=names[1])
    return msgspec.structs.replace(node, op=op)


def _fuse_pools(graph: Graph, layers: set[str]) -> Graph:
    """Fuse 2 x 2 max pools, so that a quarter of the bytes is written."""

    def merge(before: Node, node: Node) -> Node | None:
        if before.name not in layers or not _can_fuse_pool(before, node):
            return None
        assert isinstance(before.op, ConvOp) and isinstance(node.op, PoolOp)
        bare = msgspec.structs.replace(node.op, post=())
        post = (*before.op.post, bare, *node.op.post)
        op = msgspec.structs.replace(before.op, post=post)
        return msgspec.structs.replace(before, op=op, output=node.output)

    return merge_pairs(graph, merge)


def _can_fuse_pool(before: Node, node: Node) -> bool:
    conv, pool = before.op, node.op
    if not isinstance(conv, ConvOp) or not isinstance(pool, PoolOp):
        return False
    rising = all(
        isinstance(post, ActivationOp) and post.kind in MONOTONIC and post.alpha >= 0
        for post in conv.post
    )
    windows = pool.kind == "max" and pool.window == pool.strides == (2, 2) and not any(pool.pads)
    return rising and windows and conv.perforation == (1, 1, 0) and conv.groups == 1


def _byte_values(graph: Graph, layers: set[str]) -> set[str]:
    """Values stored as bytes: written by a quantized layer, and read by no one as floats."""
    readers = graph.readers()
    moves = {node.output: node.input for node in graph.nodes if _keeps_bytes(node, readers, layers)}
    candidates = set(graph.shapes()) - set(graph.outputs)
    for node in reversed(graph.nodes):  # readers come after writers
        reads_bytes = (
            reader.name in layers or (reader.output in moves and reader.output in candidates)
            for reader in readers[node.output]
        )
        if not all(reads_bytes):
            candidates.discard(node.output)
    byte_values: set[str] = set()
    for node in graph.nodes:
        if node.name in layers or moves.get(node.output, "") in byte_values:
            byte_values |= {node.output} & candidates
    return byte_values


def _keeps_bytes(node: Node, readers: Mapping[str, list[Node]], layers: set[str]) -> bool:
    """Whether it keeps bytes as they are: a max pool, or a flatten before dense layers."""
    if isinstance(node.op, PoolOp):
        return node.op.kind == "max" and not node.op.post
    return (
        isinstance(node.op, ReshapeOp)
        and len(node.shape) == 1
        and all(
            reader.name in layers
            and isinstance(reader.op, DenseOp)
            and reader.inputs[0] == node.output
            for reader in readers[node.output]
        )
    )


MAX_SAMPLES = 50_000  # samples of a value
SHARES = np.linspace(0.4, 1.0, 25)  # candidates, as shares of the full range


class Affine(msgspec.Struct, frozen=True):
    """A byte b is (b - zero) * scale."""

    scale: float
    zero: int


def affine(values: Array) -> Affine:
    """The range of least mean square error; outliers are clipped."""
    samples = _subsample(values).astype(np.float64)
    low, high = min(float(samples.min()), 0.0), max(float(samples.max()), 0.0)
    ranges = [_affine_range(low * share, high * share) for share in SHARES]
    return min(ranges, key=lambda candidate: _loss(samples, candidate))


def quantize_weights(weight: Array) -> tuple[Array, Array]:
    """Integers from -127 to 127 and a scale for each filter, nearest to the weight."""
    rows = np.abs(weight.reshape(len(weight), -1)).max(1).astype(np.float64)
    scales = (np.where(rows > 0, rows, 127.0) / 127).astype(np.float32)
    numbers = np.rint(weight / scales.reshape(-1, *(1,) * (weight.ndim - 1)))
    return np.clip(numbers, -127, 127).astype(np.float32), scales


def _subsample(values: Array) -> Array:
    """A regular sample of the values, with their minimum and maximum."""
    flat: Array = np.asarray(values).reshape(-1)
    flat = flat[np.isfinite(flat)]
    if not flat.size:
        return np.zeros(1, np.float32)
    samples: Array = flat[:: max(1, flat.size // MAX_SAMPLES)]
    return np.concatenate([samples, [flat.min(), flat.max()]])


def _affine_range(low: float, high: float) -> Affine:
    scale = float(np.float32(max(high - low, 1e-30) / 255))
    return Affine(scale, int(np.clip(np.rint(-low / scale), 0, 255)))


def _loss(values: Array, affine_range: Affine) -> Any:
    stored = np.clip(np.rint(values / affine_range.scale + affine_range.zero), 0, 255)
    return np.mean(((stored - affine_range.zero) * affine_range.scale - values) ** 2)
