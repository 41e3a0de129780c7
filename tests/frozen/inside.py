"""The one file of this folder that names internal modules of assay: change them here only."""

from __future__ import annotations

import inspect
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import click
import msgspec
import pytest

from assay.cli import main
from assay.commands.ab.state import AbRequest
from assay.commands.bisect.api import Bisection
from assay.commands.race.ranking import Race
from assay.commands.schedule.run_log import PlanRunLine
from assay.core import codec, messages
from assay.core.records import Plan, Result
from assay.measure import process
from assay.native.tuner.records import Tuning
from assay.stats.paired_ratio import Comparison
from assay.stores import folders

DOCUMENTS: dict[str, type[Any]] = {  # file of a store → what it holds
    "result.json": Result,
    "plan.json": Plan,
    "amended.json": folders.Amendment,
    "comparison.json": Comparison,
    "request.json": AbRequest,
    "race.json": Race,
    "bisection.json": Bisection,
    "tuning.json": Tuning,
}
NOT_INDENTED = {"result.json", "amended.json", "nights.jsonl"}


def main_command() -> click.Group:
    """The command `assay` itself."""
    return main.assay


@dataclass
class Exchange:
    """What one parent and its workers said: of each worker, in the order it was started."""

    workers: list[object] = field(default_factory=list)
    events: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)

    def add(self, worker: object, what: str, message: object = None) -> None:
        if worker not in self.workers:
            self.workers.append(worker)
        plain = {} if message is None else msgspec.msgpack.decode(msgspec.msgpack.encode(message))
        self.events.append((self.workers.index(worker), what, plain))


@contextmanager
def exchange() -> Iterator[Exchange]:
    """Listens between parent and workers: messages as they are on the wire, and when a worker's
    group is stopped and continued."""
    log, kind = Exchange(), process.WorkerProcess
    send, next_answer, signal_group = kind.send, kind._next, kind._send_signal

    def sent(worker: process.WorkerProcess, request: messages.Request) -> None:
        log.add(worker, "request", request)
        send(worker, request)

    def received(worker: process.WorkerProcess) -> messages.Response:
        answer = next_answer(worker)
        log.add(worker, "answer", answer)
        return answer

    def signalled(worker: process.WorkerProcess, number: int) -> bool:
        if number in (signal.SIGSTOP, signal.SIGCONT):
            log.add(worker, signal.Signals(number).name)
        return signal_group(worker, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "send", sent)
        patch.setattr(kind, "_next", received)
        patch.setattr(kind, "_send_signal", signalled)
        yield log


def call_main() -> int:
    """The command line in this process, with the words of `sys.argv`; its exit status."""
    with pytest.raises(SystemExit) as left:
        main.main()
    return int(left.value.code or 0)


def written_again(name: str, data: bytes) -> bytes:
    """The bytes of a file of the store, read as its record and encoded."""
    if name == "nights.jsonl":
        return msgspec.json.encode(msgspec.json.decode(data, type=PlanRunLine))
    indent = 0 if name in NOT_INDENTED else 2
    return codec.encode(codec.decode(data, DOCUMENTS[name], name), indent=indent)


def keywords(function: Callable[..., object]) -> set[str]:
    """Names that arguments of a function can be given by, older spellings included."""
    rest = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parts = inspect.signature(function).parameters.values()
    older = set(getattr(function, "__older_keywords__", ()))
    return older | {part.name for part in parts if part.kind not in rest}
