"""Layers over bytes joined into chains: what only they read stays bytes between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from assay.native.activations import RISING
from assay.native.graph import Array, Graph, Node
from assay.native.ops import ActivationOp, CastOp, ConvOp, DenseOp, PoolOp, ReshapeOp
from assay.native.passes.rewrite import merge_pairs, rewritten, unused


def over_bytes(graph: Graph, layers: set[str], values: Mapping[str, Array]) -> Graph:
    """These layers with weights and inputs as bytes; `values` are the graph's, of some items."""
    graph = _pooled_at_once(_whole(graph, layers), layers)
    kept = _kept(graph, layers)
    nodes: dict[str, Node] = {}
    casts: dict[str, str] = {}
    for node in graph.nodes:
        source = node.input
        if node.name in layers and source not in kept:
            if source not in casts:
                cast = _cast(graph, source)
                casts[source] = cast.output
                nodes[cast.output] = _as_bytes(cast, values[source])
            inputs = (casts[source], *node.inputs[1:])
            node = msgspec.structs.replace(node, inputs=inputs)
        if node.output in kept:
            same = nodes[source] if node.name not in layers else None
            node = _as_bytes(node, values[node.output], same)
        nodes[node.output] = node
    return rewritten(graph, nodes.values())


def _cast(graph: Graph, value: str) -> Node:
    name = unused(f"{value}/int8", graph)
    shape = graph.shapes()[value]
    return Node(name=name, op=CastOp(), inputs=(value,), output=name, shape=shape)


def _as_bytes(node: Node, values: Array, same: Node | None = None) -> Node:
    """Of the scale that fits the values best, or that of another node."""
    found = same or affine(values)
    return msgspec.structs.replace(node, dtype="uint8", scale=found.scale, zero=found.zero)


def _whole(graph: Graph, layers: set[str]) -> Graph:
    made: dict[str, Array] = {}
    nodes = []
    for node in graph.nodes:
        if node.name in layers and isinstance(node.op, ConvOp | DenseOp):
            node = whole_layer(node, node.op, graph.constants[node.op.weight], made)
        nodes.append(node)
    return rewritten(graph, nodes, made)


def whole_layer(node: Node, op: ConvOp | DenseOp, weight: Array, made: dict[str, Array]) -> Node:
    """The layer with weights of whole numbers, which `made` gets with their factors."""
    names = (f"{node.name}/int8", f"{node.name}/scales")
    made |= zip(names, whole_weights(weight), strict=True)
    op = msgspec.structs.replace(op, weight=names[0], scales=names[1])
    return msgspec.structs.replace(node, op=op)


def _pooled_at_once(graph: Graph, layers: set[str]) -> Graph:
    """The largest of two by two results, before it is written: a quarter of the bytes."""

    def merge(before: Node, node: Node) -> Node | None:
        if before.name not in layers or not _pools(before, node):
            return None
        assert isinstance(before.op, ConvOp) and isinstance(node.op, PoolOp)
        bare = msgspec.structs.replace(node.op, post=())
        post = (*before.op.post, bare, *node.op.post)
        op = msgspec.structs.replace(before.op, post=post)
        return msgspec.structs.replace(before, op=op, output=node.output)

    return merge_pairs(graph, merge)


def _pools(before: Node, node: Node) -> bool:
    conv, pool = before.op, node.op
    if not isinstance(conv, ConvOp) or not isinstance(pool, PoolOp):
        return False
    rising = all(
        isinstance(post, ActivationOp) and post.kind in RISING and post.alpha >= 0
        for post in conv.post
    )
    windows = pool.kind == "max" and pool.window == pool.strides == (2, 2) and not any(pool.pads)
    return rising and windows and conv.perforation == (1, 1, 0) and conv.groups == 1


def _kept(graph: Graph, layers: set[str]) -> set[str]:
    """Values that are bytes: a layer over bytes writes them, and nobody needs floats."""
    readers = graph.readers()
    moving = {node.output: node.input for node in graph.nodes if _moves(node, readers, layers)}
    wanted = set(graph.shapes()) - set(graph.outputs)
    for node in reversed(graph.nodes):  # those who read stand after those who write
        takes = (
            reader.name in layers or (reader.output in moving and reader.output in wanted)
            for reader in readers[node.output]
        )
        if not all(takes):
            wanted.discard(node.output)
    kept: set[str] = set()
    for node in graph.nodes:
        if node.name in layers or moving.get(node.output, "") in kept:
            kept |= {node.output} & wanted
    return kept


def _moves(node: Node, readers: Mapping[str, list[Node]], layers: set[str]) -> bool:
    """It leaves bytes as they are: the largest of some, or a picture flattened for dense layers."""
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


MOST = 50_000  # numbers looked at, of a value
SHARES = np.linspace(0.4, 1.0, 25)  # of the whole range, that are tried


class Affine(msgspec.Struct, frozen=True):
    """A byte b is (b - zero) * scale."""

    scale: float
    zero: int


def affine(values: Array) -> Affine:
    """The range whose bytes are nearest to the values, in mean square: far ones are cut off."""
    seen = _some(values).astype(np.float64)
    low, high = min(float(seen.min()), 0.0), max(float(seen.max()), 0.0)
    tried = [_of(low * share, high * share) for share in SHARES]
    return min(tried, key=lambda each: _loss(seen, each))


def whole_weights(weight: Array) -> tuple[Array, Array]:
    """Whole numbers from -127 to 127 and a factor for each filter, nearest to the weight."""
    rows = np.abs(weight.reshape(len(weight), -1)).max(1).astype(np.float64)
    scales = (np.where(rows > 0, rows, 127.0) / 127).astype(np.float32)
    numbers = np.rint(weight / scales.reshape(-1, *(1,) * (weight.ndim - 1)))
    return np.clip(numbers, -127, 127).astype(np.float32), scales


def _some(values: Array) -> Array:
    """Spread evenly, the largest and smallest among them."""
    flat: Array = np.asarray(values).reshape(-1)
    flat = flat[np.isfinite(flat)]
    if not flat.size:
        return np.zeros(1, np.float32)
    some: Array = flat[:: max(1, flat.size // MOST)]
    return np.concatenate([some, [flat.min(), flat.max()]])


def _of(low: float, high: float) -> Affine:
    scale = float(np.float32(max(high - low, 1e-30) / 255))
    return Affine(scale, int(np.clip(np.rint(-low / scale), 0, 255)))


def _loss(values: Array, as_bytes: Affine) -> Any:
    kept = np.clip(np.rint(values / as_bytes.scale + as_bytes.zero), 0, 255)
    return np.mean(((kept - as_bytes.zero) * as_bytes.scale - values) ** 2)
