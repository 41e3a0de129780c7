"""A heat: several cases warm at the same time, each in a fresh process, each ending as a Result."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay import launch
from assay.batchsize import available_memory
from assay.child import Child
from assay.errors import EndingError
from assay.protocol import Check, Checked, Given, Open, Opened, Outputs, Taken
from assay.records import Case, Procedure, Result, Samples, Status
from assay.schedule import FIRST, Watch, ask_one, open_time, samples, settled
from assay.together import turn

# Cases that take turns, if they fit: more where there are cores to load and compile them.
TOGETHER = max(4, len(os.sched_getaffinity(0)) * 3 // 4)
PLENTY = 8 << 30  # bytes: with so much memory for each nobody has to show first what one takes
ROOM = 1.2  # memory that must be left to open one more, as a multiple of the largest so far

NO_ROOM = "they do not fit in memory together"
UNSTEPPED = "one of them times itself, so that it cannot be stepped in turns"


class Entry(NamedTuple):
    """A case that takes part, and where its result goes."""

    name: str
    case: Case
    result_id: str
    folder: Path


class Heat(NamedTuple):
    """How a heat ended."""

    results: dict[str, Result]
    outputs: dict[str, Given]
    opening: float  # seconds until all were warm
    apart: dict[str, str]  # who could not take part beside the others, and why


# The turns of each who is still in, and the seconds it took to open all → whether to go on.
GoOn = Callable[[Mapping[str, Sequence[Samples]], float], bool]


def sampled(turns: Mapping[str, Sequence[Samples]]) -> float:
    """Seconds that the turns took, of all together."""
    return sum(sum(part.values) * part.steps for taken in turns.values() for part in taken)


def run_heat(
    entries: Sequence[Entry],
    procedure: Procedure,
    watch: Watch,
    go_on: GoOn,
    seed: int = 0,
    room: Callable[[], int] = available_memory,
) -> Heat:
    """Open, warm up one after the other, then turns, in an order drawn anew each round.

    Who does not end well is out; with fewer than two left there is nobody to compare.
    """
    begun = opened = time.monotonic()
    racers = [Racer(entry, procedure) for entry in entries]
    apart: dict[str, str] = {}
    with ExitStack() as stack:
        for racer in racers:
            stack.callback(racer.close)
        try:
            apart = _open_all(racers, watch, room)
            opened = time.monotonic()
            _take_turns(racers, go_on, random.Random(seed), opened - begun)
            for racer in racers:
                racer.check()
        except KeyboardInterrupt as error:
            for racer in racers:
                racer.end("interrupted", str(error) or "by Ctrl-C")
    return Heat(
        results={racer.name: racer.result() for racer in racers},
        outputs={racer.name: racer.outputs for racer in racers if racer.outputs},
        opening=opened - begun,
        apart=apart,
    )


class Racer:
    """One entry of a heat, from its birth to its result."""

    def __init__(self, entry: Entry, procedure: Procedure) -> None:
        self.name = entry.name
        self.status = "ok"
        self.steps = 0  # of one sample; 0: it times itself
        self.turns: list[Samples] = []
        self.outputs: Given | None = None
        self._entry, self._procedure = entry, procedure
        self._begun = time.monotonic()
        self._result = launch.blank(entry.case, procedure, entry.result_id, entry.folder)
        self.reason = ""
        self._stepped = False
        self._before: list[Samples] = []
        self._child: Child | None = None
        self._peaks: dict[str, float] = {}

    def start(self) -> None:
        """Its process, which begins to load."""
        try:
            launch.refuse(self._entry.case)
            self._child = Child(self._entry.case, self._entry.folder, self._procedure.timeout)
            self._child.send(Open(case=self._entry.case))
        except EndingError as error:
            self.end(error.status, error.reason)

    def open(self) -> None:
        """Loaded and at its first step, or ended."""
        if not self._child:
            return
        try:
            told = next(a for a in self._child.answers() if isinstance(a, Opened))
            self._opened(self._child, told)
            if self._stepped:
                self._child.send(FIRST)
        except EndingError as error:
            self.end(error.status, error.reason)

    def first(self) -> None:
        """Past its first step and standing still, or ended."""
        if not self._child or not self._stepped:
            return
        try:
            taken = next(a for a in self._child.answers() if isinstance(a, Taken))
            self._before.append(samples(taken, "first"))
            self._child.stand_still()
        except EndingError as error:
            self.end(error.status, error.reason)

    def warm(self, watch: Watch) -> None:
        """Steady and standing still, or ended."""
        if not self._child or not self._stepped:
            return
        self._child.wake()
        try:
            self.steps = self._settled(self._child, watch)
            self._child.stand_still()
        except EndingError as error:
            self.end(error.status, error.reason)

    def turn(self) -> None:
        assert self._child
        try:
            self.turns.append(turn(self._child, self.steps))
        except EndingError as error:
            self.end(error.status, error.reason)

    def check(self) -> None:
        """Whether its wait waits; after all turns, for it takes steps of its own."""
        if not self._child or not self.turns:
            return
        self._child.wake()
        try:
            found = ask_one(self._child, Check(), Checked)
        except EndingError as error:
            self.end(error.status, error.reason)
            return
        facts = {**self._result.facts, **found.facts}
        self._result = msgspec.structs.replace(self._result, facts=facts)

    def end(self, status: str, reason: str) -> None:
        """At once: a process that hangs would disturb the others."""
        if self.status == "ok":
            self.status, self.reason = status, reason
        self.close()

    def close(self) -> None:
        if self._child:
            child, self._child = self._child, None
            child.__exit__(None if self.status == "ok" else EndingError, None, None)
            self._peaks = child.peaks

    def result(self) -> Result:
        status: Status = msgspec.convert(self.status, Status)
        return msgspec.structs.replace(
            self._result,
            samples=(*self._before, *self.turns),
            peaks=self._peaks,
            seconds=time.monotonic() - self._begun,
            status=status,
            reason=self.reason,
        )

    def _settled(self, child: Child, watch: Watch) -> int:
        pieces = settled(child, self._entry.case, self._procedure, watch)
        while True:
            try:
                self._before.append(next(pieces))
            except StopIteration as end:
                return int(end.value)

    def _opened(self, child: Child, told: Opened) -> None:
        """What it says of itself; its outputs now, before a step changes the weights."""
        self._result = launch.opened(self._result, told)
        self._stepped = told.stepped
        self._before.append(open_time(told))
        if told.outputs:
            self.outputs = ask_one(child, Outputs(), Given)


def _open_all(racers: Sequence[Racer], watch: Watch, room: Callable[[], int]) -> dict[str, str]:
    """Who cannot be warm beside those opened before it, and why.

    Where memory is plenty, all load and compile at once, which is most of opening: the times of
    that are those of a crowd. Else the first comes alone and shows how much memory one takes, and
    the others at once if there is room for all. Warm-up is each one's own in any case.
    """
    first, *others = racers
    before = room()
    if before >= PLENTY * len(racers):
        _open(racers, watch)
        return _apart(racers)
    _open([first], watch)
    left = room()
    largest = before - left
    if left >= ROOM * largest * len(others):
        _open(others, watch)
        return _apart(racers, first)
    for racer in others:
        if (before := room()) < ROOM * largest:
            racer.end("skipped", NO_ROOM)
            continue
        _open([racer], watch)
        largest = max(largest, before - room())
    return _apart(racers, first)


def _open(racers: Sequence[Racer], watch: Watch) -> None:
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.open()
    for racer in racers:
        racer.first()
    for racer in racers:
        racer.warm(watch)


def _apart(racers: Sequence[Racer], alone: Racer | None = None) -> dict[str, str]:
    """Nothing was in the way of the one who came alone."""
    return {racer.name: why for racer in racers if (why := _why_apart(racer, alone))}


def _why_apart(racer: Racer, alone: Racer | None) -> str:
    if racer.status == "ok" and not racer.steps:
        racer.end("skipped", UNSTEPPED)
        return UNSTEPPED
    crowded = racer.status == "out-of-memory" or racer.reason == NO_ROOM
    return NO_ROOM if crowded and racer is not alone else ""


def _take_turns(racers: Sequence[Racer], go_on: GoOn, order: random.Random, opening: float) -> None:
    while True:
        left = [racer for racer in racers if racer.status == "ok"]
        if len(left) < 2 or not go_on({racer.name: racer.turns for racer in left}, opening):
            return
        for racer in order.sample(left, len(left)):
            racer.turn()
