"""What a case needs of a node, and which nodes have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from assay.core.errors import NotPossibleError, UsageError, unknown

NAMES = ("cpus", "gpus", "accelerator")
_TYPE = "accelerator_type:"  # how Ray calls the kind of a node's GPUs


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """Of a case. Without GPUs it has a node to itself; else those and its part of the CPUs."""

    cpus: int = 0
    gpus: int = 0
    accelerator: str = ""


class ClusterNode(NamedTuple):
    """A machine of a cluster."""

    id: str
    name: str
    cpus: float
    gpus: float
    accelerators: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [_some(int(self.cpus), "CPU")]
        if self.gpus:
            kind = " ".join(("", *self.accelerators))
            parts.append(_some(int(self.gpus), "GPU") + kind)
        return f"{self.name} ({', '.join(parts)})"


class Seat(NamedTuple):
    """Where one case at a time is measured: a node, or some of its GPUs."""

    node: ClusterNode
    number: int
    cpus: float
    gpus: float


def parse_needs(given: Mapping[str, str]) -> Needs:
    """As in `gpus=1,accelerator=H100`."""
    for name in given:
        if name not in NAMES:
            raise unknown("resource of a node", name, NAMES)
    numbers = {name: given[name] for name in ("cpus", "gpus") if name in given}
    for name, text in numbers.items():
        if not (text.isascii() and text.isdecimal() and len(text) < 6):
            raise UsageError(f"--need {name} is '{text}', but takes a number.", hint="gpus=1")
    return Needs(
        **{name: int(text) for name, text in numbers.items()},
        accelerator=given.get("accelerator", ""),
    )


def nodes_of(listed: Sequence[Mapping[str, object]]) -> list[ClusterNode]:
    """Those that are alive, of what Ray says of all."""
    return [_node(one) for one in listed if one.get("Alive")]


def _node(one: Mapping[str, object]) -> ClusterNode:
    found = one.get("Resources")
    has: Mapping[str, float] = found if isinstance(found, dict) else {}
    kinds = tuple(sorted(n.removeprefix(_TYPE) for n in has if n.startswith(_TYPE)))
    return ClusterNode(
        id=str(one["NodeID"]),
        name=str(one.get("NodeManagerHostname") or one.get("NodeManagerAddress")),
        cpus=has.get("CPU", 0.0),
        gpus=has.get("GPU", 0.0),
        accelerators=kinds,
    )


def seats(nodes: Sequence[ClusterNode], needs: Needs) -> list[Seat]:
    """One case per device at a time: neighbours would disturb each other."""
    found = []
    for node in nodes:
        if _fits(node, needs):
            places = int(node.gpus // needs.gpus) if needs.gpus else 1
            share = node.cpus / places
            share = share if share < 1 else int(share)  # Ray has parts of one, and whole ones
            gpus = needs.gpus or node.gpus
            found += [Seat(node, number, share, gpus) for number in range(places)]
    return found


def check_needs(nodes: Sequence[ClusterNode], needs: Needs) -> None:
    if not seats(nodes, needs):
        there = "; ".join(str(node) for node in nodes)
        raise NotPossibleError(
            f"No node of the cluster has {_words(needs)}.", hint=f"There are: {there or 'none'}."
        )


def _fits(node: ClusterNode, needs: Needs) -> bool:
    kind = needs.accelerator.lower()
    return (
        node.cpus >= max(needs.cpus, 1)
        and node.gpus >= needs.gpus
        and (not kind or kind in {name.lower() for name in node.accelerators})
    )


def _words(needs: Needs) -> str:
    parts = [_some(max(needs.cpus, 1), "CPU")]
    if needs.gpus:
        parts.append(_some(needs.gpus, "GPU"))
    if needs.accelerator:
        parts.append(f"an accelerator of type {needs.accelerator}")
    return " and ".join(parts)


def _some(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
