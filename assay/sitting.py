"""A sitting: some cases, each in a fresh process, made warm one by one and sampled in turns.

What the machine does meanwhile then falls on all of them alike.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from assay import together
from assay.analysis.estimates import so_far
from assay.analysis.stopping import confirmed, narrow, next_look
from assay.child import Child
from assay.errors import EndingError
from assay.launch import Account, refuse
from assay.protocol import Check, Checked
from assay.records import Case, Procedure, Result
from assay.schedule import Progress, Watch, ask_one, told, warmed

Place = tuple[str, Path]  # id of a result to be, and its folder


def sit(
    cases: Sequence[Case],
    places: Callable[[], Place],
    procedure: Procedure,
    watch: Watch,
    seed: int = 0,
) -> Iterator[Result]:
    """A result for each case, whatever happens; all that are left end as one if interrupted."""
    seats = [_Seat(case, procedure, *places()) for case in cases]
    interrupted = ""
    try:
        for seat in seats:
            seat.guarded(lambda seat=seat: seat.warm(watch))  # type: ignore[misc]
        order = random.Random(seed)
        while active := [seat for seat in seats if seat.active]:
            for seat in order.sample(active, len(active)):
                seat.guarded(lambda seat=seat: seat.turn(watch))  # type: ignore[misc]
        for seat in seats:
            seat.guarded(seat.check)
    except KeyboardInterrupt as error:
        interrupted = str(error) or "interrupted by Ctrl-C"
    finally:
        for seat in seats:
            seat.leave()
    for seat in seats:
        yield seat.result(interrupted)


class _Seat:
    """One case in its process, from start to end."""

    def __init__(self, case: Case, procedure: Procedure, result_id: str, folder: Path) -> None:
        self.active = False  # it has a turn in the next round
        self._case, self._procedure, self._folder = case, procedure, folder
        self._account = Account(case, procedure, result_id, folder)
        self._ending: tuple[str, str] | None = None
        self._stack = ExitStack()
        self._child: Child | None = None
        self._seconds = 0.0  # its own
        self._steps = 0
        self._taken: list[float] = []
        self._looks: list[bool] = []
        self._spent, self._look = 0.0, next_look(0)

    def guarded(self, work: Callable[[], None]) -> None:
        """An ending is this seat's own affair."""
        if self._ending:
            return
        before = self._account.seconds
        try:
            work()
        except EndingError as error:
            self._ending, self.active = (error.status, error.reason), False
            self._stack.__exit__(EndingError, error, None)
        finally:
            self._seconds += self._account.seconds - before

    def warm(self, watch: Watch) -> None:
        refuse(self._case)
        self._child = Child(self._case, self._folder, self._procedure.timeout)
        self._stack.enter_context(self._child)
        pieces = warmed(self._child, self._case, self._procedure, watch)
        try:
            while True:
                self._account.add(next(pieces))
        except StopIteration as end:
            self._steps = end.value
        if self._steps:
            self.active = True
            self._child.stand_still()
        else:
            for piece in told(self._child):
                self._account.add(piece)

    def turn(self, watch: Watch) -> None:
        assert self._child
        part = together.turn(self._child, self._steps)
        self._account.add(part)
        self._taken += part.values
        self._spent += sum(value for value in part.values if value > 0) * part.steps
        found = so_far(self._taken)
        if len(self._taken) >= self._look:
            self._looks.append(narrow(found, self._procedure.target))
            self._look = next_look(len(self._taken))
        left = self._procedure.budget - self._spent
        self.active = left > 0 and not confirmed(self._looks)
        watch(
            Progress(
                case=self._case,
                phase="steady",
                samples=len(self._taken),
                estimate=found.value,
                half_width=found.half_width,
                left=max(0.0, left),
            )
        )

    def check(self) -> None:
        if self._child and self._steps:
            self._child.wake()
            self._account.add(ask_one(self._child, Check(), Checked))

    def leave(self) -> None:
        self._stack.close()
        if self._child:
            self._account.peaks.append(self._child.peaks)

    def result(self, interrupted: str) -> Result:
        whole = self._ending or (("interrupted", interrupted) if interrupted else ("ok", ""))
        return self._account.closed(*whole, seconds=self._seconds)
