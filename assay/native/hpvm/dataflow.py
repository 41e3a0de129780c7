"""HPVM's dataflow graph: a leaf for each tensor operation, and the input tensors."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.native.graph import Array, Shape

LeafOp = Literal[
    "conv",
    "group_conv",
    "mul",
    "add",
    "batchnorm",
    "relu",
    "clipped_relu",
    "tanh",
    "pool_max",
    "pool_mean",
    "pool_min",
    "softmax",
]
ACTIVATIONS = ("relu", "clipped_relu", "tanh")
POOLS = ("pool_max", "pool_mean", "pool_min")
INPUT = "input"  # the tensor that changes from batch to batch


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """One operation, named by its number from 0 in program order: `var_3`."""

    name: str
    op: LeafOp
    inputs: tuple[str, ...]  # names of tensors and earlier leaves
    numbers: tuple[float, ...] = ()  # arguments of its intrinsic after the tensors
    layer: str = ""  # of the model
    node: str = ""  # of the graph


class Dataflow(msgspec.Struct, frozen=True, kw_only=True):
    """A network of one data input and one output, that of the last leaf."""

    name: str
    shape: Shape  # of one item of the input: channels, height, width
    classes: int  # size of an item's output
    leaves: tuple[Leaf, ...]
    tensors: dict[str, Array]  # weights as in their files, in the order of the layers
    costs: tuple[float, ...] = ()  # multiply-adds of each leaf for one item, as HPVM counts them

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Edges from leaf to leaf."""
        names = {leaf.name for leaf in self.leaves}
        return tuple((n, leaf.name) for leaf in self.leaves for n in leaf.inputs if n in names)


def line_names(flow: Dataflow) -> str:
    """A row for each line: its operations and, after a tab, the node of the first."""
    rows = (" ".join(leaf.op for leaf in line) + f"\t{line[0].node}" for line in fused_lines(flow))
    return "".join(f"{row}\n" for row in rows)


def fused_lines(flow: Dataflow) -> tuple[tuple[Leaf, ...], ...]:
    """The leaves that share a line of a configuration, as in HPVM's fusion pass.

    A convolution is fused with its bias, then one activation, then one pool; a product with its
    bias and one activation. Everything else, also a convolution without bias, has its own line.
    """
    readers: dict[str, list[Leaf]] = {}
    for leaf in flow.leaves:
        for name in leaf.inputs:
            readers.setdefault(name, []).append(leaf)
    used: set[str] = set()
    lines = []
    for leaf in flow.leaves:
        if leaf.name in used:
            continue
        chain = _chain(leaf, readers, flow)
        used.update(member.name for member in chain)
        lines.append(chain)
    return tuple(lines)


def _chain(leaf: Leaf, readers: dict[str, list[Leaf]], flow: Dataflow) -> tuple[Leaf, ...]:
    if leaf.op not in ("conv", "mul"):
        return (leaf,)
    follower = _single_reader(leaf, readers)
    if follower is None or follower.op != "add" or follower.inputs[1] not in flow.tensors:
        return (leaf,)
    chain = [leaf, follower]
    kinds = (ACTIVATIONS, POOLS) if leaf.op == "conv" else (ACTIVATIONS,)
    for kind in kinds:
        following = _single_reader(chain[-1], readers)
        if following and following.op in kind:
            chain.append(following)
    return tuple(chain)


def _single_reader(leaf: Leaf, readers: dict[str, list[Leaf]]) -> Leaf | None:
    leaves = readers.get(leaf.name, [])
    return leaves[0] if len(leaves) == 1 else None
