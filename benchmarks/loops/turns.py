"""Two sides of a configuration warm at the same time, each in a process, that take turns.

One side is a loop written by hand, which times so many steps whenever its parent asks it to; the
other a worker of assay, as `assay ab` has it. What they compile is kept for the next round.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from assay.core.case_text import parse_case
from assay.core.progress import ignore
from assay.core.records import Procedure
from assay.measure import plan, process_env, shared_cache
from assay.measure.case import HeatEntry, OpenCase
from assay.measure.result_builder import ResultBuilder
from assay.stores.folders import new_case

Step = Callable[[], Any]
Wait = Callable[[Any], object]


def warm_up(step: Step, wait: Wait, seconds: float) -> None:
    """From the first step on: a device that has just begun is fast."""
    wait(step())
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        wait(step())


def timed(step: Step, wait: Wait, steps: int) -> float:
    """Seconds of one of so many steps with one wait."""
    start = time.perf_counter()
    for _ in range(steps):
        last = step()
    wait(last)
    return (time.perf_counter() - start) / steps


def serve(step: Step, wait: Wait, warmup: float) -> None:
    """In the child: a line is said when all is compiled; then each line asks for so many steps
    (0: to warm up), and their time is answered. The first step of a turn is not timed."""
    wait(step())
    print("ready", flush=True)
    for line in sys.stdin:
        if steps := int(line):
            wait(step())
            print(timed(step, wait, steps), flush=True)
        else:
            warm_up(step, wait, warmup)
            print("warm", flush=True)


class Hand:
    """The loop written by hand, in a process of its own."""

    def __init__(self, command: Sequence[str], variables: dict[str, str]) -> None:
        self._said: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the process)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env=os.environ | variables,
        )

    def answer(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline().strip()
        if not line:
            self._said.seek(0)
            raise RuntimeError(f"the loop by hand ended: {self._said.read()[-600:]}")
        return line

    def ask(self, steps: int) -> str:
        assert self._process.stdin
        self._process.stdin.write(f"{steps}\n")
        self._process.stdin.flush()
        return self.answer()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._said.close()


class Sides:
    """Both sides of a configuration, from the start of their processes on."""

    def __init__(
        self,
        name: str,
        case: str,
        command: Sequence[str],
        variables: dict[str, str],
        home: Path,
        budget: float,
    ) -> None:
        run = home / "runs" / "by-hand"
        for shared in (shared_cache.NAME, shared_cache.WEIGHTS):
            (run / shared).mkdir(parents=True, exist_ok=True)
        place, asked = new_case(run), plan.resolve(parse_case(case))
        self.name = name
        procedure = Procedure(budget=budget)
        builder = ResultBuilder(asked, procedure, place)
        self._assay = OpenCase(HeatEntry(name, asked, place), procedure, ignore, builder)
        self._assay.check_support()
        self._assay.start()
        caches = shared_cache.variables(place.folder)
        self._hand = Hand(command, process_env.COMMON_VARIABLES | caches | variables)
        self._by_hand: list[float] = []

    def open(self) -> None:
        self._assay.open()
        self._assay.get_outputs()
        self._assay.start_first_step()
        self._assay.first_step()
        self._assay.pause()
        self._check()
        self._hand.answer()

    def warm(self) -> None:
        self._assay.resume(renew_timeout=True)
        self._assay.warm_up()
        self._assay.pause()
        self._check()
        self._hand.ask(0)

    def turn(self, order: random.Random) -> None:
        for take in order.sample((self._assay.take_turn, self._hand_turn), 2):
            take()
        self._check()

    def taken(self) -> list[tuple[float, float]]:
        """Seconds by hand and by assay, of each turn."""
        by_assay = [statistics.median(part.values) for part in self._assay.turns]
        return list(zip(self._by_hand, by_assay, strict=True))

    def close(self) -> None:
        self._hand.close()
        self._assay.close()

    def _hand_turn(self) -> None:
        self._by_hand.append(float(self._hand.ask(self._assay.steps)))

    def _check(self) -> None:
        if self._assay.status != "ok":
            raise RuntimeError(f"{self._assay.status}: {self._assay.reason}")


def taken(sides: Sequence[Sides], count: int) -> dict[str, list[tuple[float, float]]]:
    """The turns of each configuration; of one that fails it is said why."""
    order, found = random.Random(), {}
    with ExitStack() as stack:
        for one in sides:
            stack.callback(one.close)
        well = [one for one in sides if _goes_well(one, one.open)]
        for one in well:

            def turns(one: Sides = one) -> None:
                one.warm()
                for _ in range(count):
                    one.turn(order)
                found[one.name] = one.taken()

            _goes_well(one, turns)
    return found


def _goes_well(one: Sides, call: Callable[[], None]) -> bool:
    try:
        call()
    except RuntimeError as error:
        print(f"{one.name}: {error}", flush=True)
        one.close()
        return False
    return True


@contextmanager
def pinned(number: int, of: int) -> Iterator[None]:
    """What is started inside has this share of the CPUs, at least two: who is on which CPU is not
    to decide between two sides that are both bound by their host."""
    mine = sorted(os.sched_getaffinity(0))
    size = max(2, len(mine) // of)
    first = number * size % max(1, len(mine) - size + 1)
    os.sched_setaffinity(0, mine[first : first + size])
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)
