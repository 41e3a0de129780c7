"""Schedule units over the nodes of a cluster, one per device at a time; lost units are retried.

assay chooses the node of a unit; Ray starts it there and reserves resources, so that other tasks of
Ray do not interfere. New nodes are used too.
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
from assay.core.executor import NodeLost, RemoteTask
from assay.core.progress import Progress
from assay.platforms.cluster.resources import (
    ClusterNode,
    Needs,
    Slot,
    check_needs,
    find_slots,
    nodes_of,
)

TRIES = 3  # attempts per unit
POLL_PERIOD = 0.5  # seconds between polls
NODE_TIMEOUT = 60.0  # seconds without any node
AVOID_SECONDS = (
    30.0  # seconds without units for a node that lost one, as Ray may not have noticed yet
)


class ClusterLink(Protocol):
    """Interface of `_connection.RayLink`."""

    def nodes(self) -> list[dict[str, object]]: ...
    def versions(self, nodes: Sequence[str]) -> dict[str, str]: ...
    def start(self, seat: Slot, number: int, unit: RemoteTask) -> Any: ...
    def wait(self, running: Collection[Any], seconds: float) -> list[Any]: ...
    def outcome(self, ref: Any) -> Any: ...
    def progress(self) -> dict[int, Any]: ...
    def cancel(self, ref: Any) -> None: ...


class _Try(NamedTuple):
    """An attempt to run a unit."""

    number: int
    unit: RemoteTask
    tries: int = 1
    seat: Slot | None = None


class RayCluster:
    """A cluster that runs units."""

    def __init__(self, link: ClusterLink, needs: Needs) -> None:
        self._link, self._needs = link, needs
        self._versions: dict[str, str] = {}
        self._last = ""  # node of the last unit, preferred for the next
        self.refused: dict[str, str] = {}  # nodes with another version of assay: name → version
        self._avoided: dict[str, float] = {}  # node → time until it is used again
        self._told: set[str] = set()  # reported nodes of `refused`
        self._check()

    def submit(self, units: Iterator[RemoteTask]) -> Iterator[tuple[RemoteTask, Any]]:
        """Values of units as they end; `LostUnit` if every attempt was lost."""
        coming = (_Try(number, unit) for number, unit in enumerate(units, 1))
        retries: deque[_Try] = deque()
        running: dict[Any, _Try] = {}
        all_started, idle = False, time.monotonic()
        try:
            while not all_started or retries or running:
                for seat in self._free(running.values()):
                    attempt = retries.popleft() if retries else next(coming, None)
                    if attempt is None:
                        all_started = True
                        break
                    running[self._link.start(seat, attempt.number, attempt.unit)] = (
                        attempt._replace(seat=seat)
                    )
                    self._last = seat.node.id
                    self._report_refused(attempt.unit)
                if running:
                    idle = time.monotonic()
                    yield from self._collect(running, retries)
                elif not all_started or retries:
                    self._wait(idle)
        finally:
            for ref in running:
                self._link.cancel(ref)

    def _check(self) -> None:
        """Check that a node has the resources and this version of assay."""
        nodes = nodes_of(self._link.nodes())
        check_needs(nodes, self._needs)
        if not find_slots(self._usable(nodes), self._needs):
            others = (f"{name}: {version or 'none'}" for name, version in self.refused.items())
            reason = ", ".join(others) or "none answers"
            raise NotPossibleError(
                f"No node of the cluster has assay {assay.__version__} ({reason}).",
                hint="Install it there: results of different versions are not comparable.",
            )

    def _free(self, running: Collection[_Try]) -> list[Slot]:
        used = {(attempt.seat.node.id, attempt.seat.number) for attempt in running if attempt.seat}
        nodes = self._usable(nodes_of(self._link.nodes()))
        nodes = [n for n in nodes if self._avoided.get(n.id, 0.0) <= time.monotonic()]
        free = [s for s in find_slots(nodes, self._needs) if (s.node.id, s.number) not in used]
        return sorted(free, key=lambda seat: seat.node.id != self._last)

    def _usable(self, nodes: Sequence[ClusterNode]) -> list[ClusterNode]:
        """Nodes with this version of assay; new nodes are probed."""
        new = [node.id for node in nodes if node.id not in self._versions]
        self._versions |= self._link.versions(new) if new else {}
        for node in nodes:
            if self._versions.get(node.id, assay.__version__) != assay.__version__:
                self.refused[node.name] = self._versions[node.id]
        return [node for node in nodes if self._versions.get(node.id) == assay.__version__]

    def _report_refused(self, unit: RemoteTask) -> None:
        for name, version in self.refused.items():
            if name not in self._told:
                has = f"it has {f'assay {version}' if version else 'no assay'}"
                note = f"{name} is not used: {has}, and this is {assay.__version__}"
                unit.progress(Progress(case=unit.case, phase="open", note=note))
                self._told.add(name)

    def _collect(
        self, running: dict[Any, _Try], retries: deque[_Try]
    ) -> Iterator[tuple[RemoteTask, Any]]:
        for ref in self._link.wait(running, POLL_PERIOD):
            attempt = running.pop(ref)
            outcome = self._link.outcome(ref)
            if not isinstance(outcome, str):
                _put_files(attempt.unit, outcome.files)
                yield attempt.unit, outcome.value
                continue
            node = attempt.seat.node.name if attempt.seat else ""
            self._avoided[attempt.seat.node.id if attempt.seat else ""] = (
                time.monotonic() + AVOID_SECONDS
            )
            if attempt.tries < TRIES:
                retries.append(attempt._replace(tries=attempt.tries + 1, seat=None))
            else:
                yield attempt.unit, NodeLost(f"lost {TRIES} times, last on {node} ({outcome})")
        self._show(running)

    def _show(self, running: Mapping[Any, _Try]) -> None:
        """Report progress with the node and the number of running units."""
        known = {attempt.number: attempt for attempt in running.values()}
        for number, progress in self._link.progress().items():
            if attempt := known.get(number):
                node = attempt.seat.node.name if attempt.seat else ""
                attempt.unit.progress(
                    msgspec.structs.replace(progress, node=node, at_once=len(running))
                )

    def _wait(self, since: float) -> None:
        if time.monotonic() - since > NODE_TIMEOUT:
            raise NotPossibleError(
                f"No node of the cluster could be used for {NODE_TIMEOUT:.0f} s.",
                hint="Results are stored; continue with --resume last when it has nodes.",
            )
        time.sleep(POLL_PERIOD)


def _put_files(unit: RemoteTask, files: bytes) -> None:
    """Extract files to the local case folders."""
    run = unit.case_dirs[0].folder.parent
    with tempfile.NamedTemporaryFile(suffix=".tar.gz") as archive:
        archive.write(files)
        archive.flush()
        unpack(Path(archive.name), run)
