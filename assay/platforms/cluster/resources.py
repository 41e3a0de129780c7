"""Resources that a case needs, and nodes that have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from assay.core.errors import NotPossibleError, UsageError, unknown_name_error

NAMES = ("cpus", "gpus", "accelerator")
_TYPE = "accelerator_type:"  # prefix of Ray's resource for the GPU type


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """Resources of a case: a whole node, or GPUs with their share of the CPUs."""

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
        parts = [_count_text(int(self.cpus), "CPU")]
        if self.gpus:
            kind = " ".join(("", *self.accelerators))
            parts.append(_count_text(int(self.gpus), "GPU") + kind)
        return f"{self.name} ({', '.join(parts)})"


class Slot(NamedTuple):
    """A slot for one case at a time: a node, or some of its GPUs."""

    node: ClusterNode
    number: int
    cpus: float
    gpus: float


def parse_needs(texts: Mapping[str, str]) -> Needs:
    """Parse resources such as `gpus=1,accelerator=H100`."""
    for name in texts:
        if name not in NAMES:
            raise unknown_name_error("resource of a node", name, NAMES)
    numbers = {name: texts[name] for name in ("cpus", "gpus") if name in texts}
    for name, text in numbers.items():
        if not (text.isascii() and text.isdecimal() and len(text) < 6):
            raise UsageError(f"--need {name} is '{text}', but takes a number.", hint="gpus=1")
    return Needs(
        **{name: int(text) for name, text in numbers.items()},
        accelerator=texts.get("accelerator", ""),
    )


def nodes_of(entries: Sequence[Mapping[str, object]]) -> list[ClusterNode]:
    """Live nodes in Ray's list."""
    return [_node(entry) for entry in entries if entry.get("Alive")]


def _node(entry: Mapping[str, object]) -> ClusterNode:
    resources = entry.get("Resources")
    amounts: Mapping[str, float] = resources if isinstance(resources, dict) else {}
    kinds = tuple(sorted(n.removeprefix(_TYPE) for n in amounts if n.startswith(_TYPE)))
    return ClusterNode(
        id=str(entry["NodeID"]),
        name=str(entry.get("NodeManagerHostname") or entry.get("NodeManagerAddress")),
        cpus=amounts.get("CPU", 0.0),
        gpus=amounts.get("GPU", 0.0),
        accelerators=kinds,
    )


def find_slots(nodes: Sequence[ClusterNode], needs: Needs) -> list[Slot]:
    """Slots of nodes: one case per device at a time, to avoid interference."""
    slots = []
    for node in nodes:
        if _fits(node, needs):
            count = int(node.gpus // needs.gpus) if needs.gpus else 1
            share = node.cpus / count
            share = share if share < 1 else int(share)  # Ray allows fractions below 1 and integers
            gpus = needs.gpus or node.gpus
            slots += [Slot(node, number, share, gpus) for number in range(count)]
    return slots


def check_needs(nodes: Sequence[ClusterNode], needs: Needs) -> None:
    if not find_slots(nodes, needs):
        names = "; ".join(str(node) for node in nodes)
        raise NotPossibleError(
            f"No node of the cluster has {_words(needs)}.", hint=f"Nodes: {names or 'none'}."
        )


def _fits(node: ClusterNode, needs: Needs) -> bool:
    kind = needs.accelerator.lower()
    return (
        node.cpus >= max(needs.cpus, 1)
        and node.gpus >= needs.gpus
        and (not kind or kind in {name.lower() for name in node.accelerators})
    )


def _words(needs: Needs) -> str:
    parts = [_count_text(max(needs.cpus, 1), "CPU")]
    if needs.gpus:
        parts.append(_count_text(needs.gpus, "GPU"))
    if needs.accelerator:
        parts.append(f"an accelerator of type {needs.accelerator}")
    return " and ".join(parts)


def _count_text(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
