"""Units of work over the nodes of a cluster: one per device at a time; a lost node costs one unit.

assay says which node a unit goes to; Ray starts it there and holds the node's resources for it, so
that nothing else that asks Ray disturbs it. Nodes that come later are used, too.
"""

from __future__ import annotations

import tempfile
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

import assay
from assay.core.archives import unpack
from assay.core.errors import NotPossibleError
from assay.core.executor import LostUnit, Unit
from assay.core.progress import Progress
from assay.platforms.cluster.resources import ClusterNode, Needs, Seat, check_needs, nodes_of, seats

TRIES = 3  # of one unit, before it is given up
LOOK = 0.5  # seconds between two looks at what has ended
PATIENCE = 60.0  # seconds without any node
AVOIDED = 30.0  # seconds in which a node that lost a unit gets none: Ray may not know it is gone


class ClusterLink(Protocol):
    """What is wanted of a cluster; `_link.RayLink` has it."""

    def nodes(self) -> list[dict[str, object]]: ...
    def versions(self, nodes: Sequence[str]) -> dict[str, str]: ...
    def start(self, seat: Seat, number: int, unit: Unit) -> Any: ...
    def ended(self, running: Collection[Any], seconds: float) -> list[Any]: ...
    def outcome(self, ref: Any) -> Any: ...
    def progress(self) -> dict[int, Any]: ...
    def cancel(self, ref: Any) -> None: ...


class _Try(NamedTuple):
    """A unit that is tried, for the first time or again."""

    number: int
    unit: Unit
    tries: int = 1
    seat: Seat | None = None


class RayCluster:
    """A cluster that units are spread over."""

    def __init__(self, link: ClusterLink, needs: Needs) -> None:
        self._link, self._needs = link, needs
        self._versions: dict[str, str] = {}
        self._last = ""  # node: units that come one by one stay on theirs
        self.refused: dict[str, str] = {}  # nodes with another assay: name → its version
        self._avoided: dict[str, float] = {}  # node → until then
        self._told: set[str] = set()  # of those
        self._check()

    def spread(self, units: Iterator[Unit]) -> Iterator[tuple[Unit, Any]]:
        """What each unit gave, as they end; a `LostUnit` where its node was lost every time."""
        coming = (_Try(number, unit) for number, unit in enumerate(units, 1))
        again: deque[_Try] = deque()
        running: dict[Any, _Try] = {}
        all_begun, idle = False, time.monotonic()
        try:
            while not all_begun or again or running:
                for seat in self._free(running.values()):
                    one = again.popleft() if again else next(coming, None)
                    if one is None:
                        all_begun = True
                        break
                    running[self._link.start(seat, one.number, one.unit)] = one._replace(seat=seat)
                    self._last = seat.node.id
                    self._tell_refused(one.unit)
                if running:
                    idle = time.monotonic()
                    yield from self._ended(running, again)
                elif not all_begun or again:
                    self._wait(idle)
        finally:
            for ref in running:
                self._link.cancel(ref)

    def _check(self) -> None:
        """Before anything is begun: a node for it, and the same assay there."""
        nodes = nodes_of(self._link.nodes())
        check_needs(nodes, self._needs)
        if not seats(self._usable(nodes), self._needs):
            others = (f"{name}: {there or 'none'}" for name, there in self.refused.items())
            found = ", ".join(others) or "none answers"
            raise NotPossibleError(
                f"No node of the cluster has assay {assay.__version__} ({found}).",
                hint="Install this version there: results of two would not be comparable.",
            )

    def _free(self, running: Collection[_Try]) -> list[Seat]:
        taken = {(one.seat.node.id, one.seat.number) for one in running if one.seat}
        nodes = self._usable(nodes_of(self._link.nodes()))
        nodes = [n for n in nodes if self._avoided.get(n.id, 0.0) <= time.monotonic()]
        free = [s for s in seats(nodes, self._needs) if (s.node.id, s.number) not in taken]
        return sorted(free, key=lambda seat: seat.node.id != self._last)

    def _usable(self, nodes: Sequence[ClusterNode]) -> list[ClusterNode]:
        """Those with this version of assay; one that came later is asked, too."""
        new = [node.id for node in nodes if node.id not in self._versions]
        self._versions |= self._link.versions(new) if new else {}
        for node in nodes:
            if self._versions.get(node.id, assay.__version__) != assay.__version__:
                self.refused[node.name] = self._versions[node.id]
        return [node for node in nodes if self._versions.get(node.id) == assay.__version__]

    def _tell_refused(self, unit: Unit) -> None:
        for name, there in self.refused.items():
            if name not in self._told:
                has = f"it has {f'assay {there}' if there else 'no assay'}"
                note = f"{name} is left out: {has}, and this is {assay.__version__}"
                unit.progress(Progress(case=unit.case, phase="open", note=note))
                self._told.add(name)

    def _ended(self, running: dict[Any, _Try], again: deque[_Try]) -> Iterator[tuple[Unit, Any]]:
        for ref in self._link.ended(running, LOOK):
            one = running.pop(ref)
            found = self._link.outcome(ref)
            if not isinstance(found, str):
                _put_files(one.unit, found.files)
                yield one.unit, found.value
                continue
            node = one.seat.node.name if one.seat else ""
            self._avoided[one.seat.node.id if one.seat else ""] = time.monotonic() + AVOIDED
            if one.tries < TRIES:
                again.append(one._replace(tries=one.tries + 1, seat=None))
            else:
                yield one.unit, LostUnit(f"lost {TRIES} times, at last on {node} ({found})")
        self._show(running)

    def _show(self, running: Mapping[Any, _Try]) -> None:
        """One view of all: each with its node, and how many there are at once."""
        known = {one.number: one for one in running.values()}
        for number, progress in self._link.progress().items():
            if one := known.get(number):
                node = one.seat.node.name if one.seat else ""
                one.unit.progress(
                    msgspec.structs.replace(progress, node=node, at_once=len(running))
                )

    def _wait(self, since: float) -> None:
        if time.monotonic() - since > PATIENCE:
            raise NotPossibleError(
                f"For {PATIENCE:.0f} s no node of the cluster could be used.",
                hint="What was measured is kept; go on with --resume last when it has nodes.",
            )
        time.sleep(LOOK)


def _put_files(unit: Unit, files: bytes) -> None:
    """Into the places here, by the last part of their ids."""
    run = unit.places[0].folder.parent
    with tempfile.NamedTemporaryFile(suffix=".tar.gz") as archive:
        archive.write(files)
        archive.flush()
        unpack(Path(archive.name), run)
