"""What a parent and its workers say to each other: `python -m tests.frozen.log` writes the files.

Of each worker, in order: `> TAG` goes to it, `< TAG` comes from it, SIGSTOP and SIGCONT stop and
continue its process group. Something that is repeated (samples of the warm-up, turns of a pair)
stands once, whatever its number, since that depends on time; so does the order between two workers,
but for the beginning, until each has taken its first step: there the number is that of the worker.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.frozen import inside

DATA = Path(__file__).parent / "data"
COMMANDS = {
    "run": ("run", "cases.py:nap@python", "--samples", "5", "--processes", "2"),
    "ab": (
        *("ab", "cases.py:nap@python", "cases.py:nap_longer@python"),
        *("--pairs", "1", "--budget", "3s"),
    ),
}
LONGEST_BLOCK = 8  # events of one turn


def main() -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as home:
        patch.setenv("ASSAY_HOME", home)
        patch.chdir(DATA)
        for name in COMMANDS:
            file(name).write_text(json.dumps(record(name), indent=1) + "\n")


def file(name: str) -> Path:
    return DATA / f"messages-{name}.json"


def recorded(name: str) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(file(name).read_text())
    return log


def record(name: str) -> dict[str, Any]:
    """Of a command in the current folder: how it begins, events of each worker, fields by tag."""
    with pytest.MonkeyPatch.context() as patch, inside.exchange() as log:
        patch.setattr(sys, "argv", ["assay", *COMMANDS[name]])
        patch.setenv("COLUMNS", "80")
        inside.call_main()
    events = [(number + 1, _event(what, message)) for number, what, message in log.events]
    workers: dict[str, list[str]] = {}
    fields: dict[str, list[str]] = {}
    for number, event in events:
        workers.setdefault(f"worker {number}", []).append(event)
    for _, _, message in log.events:
        if message:
            fields[message["type"]] = sorted(message.keys() - {"type"})
    shortened = {worker: without_repeats(events) for worker, events in workers.items()}
    return {
        "beginning": [f"{n} {event}" for n, event in _beginning(events)],
        "workers": shortened,
        "fields": dict(sorted(fields.items())),
    }


def _beginning(events: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Until all that were opened at once have taken their first step."""
    opened = [number for number, _ in itertools.takewhile(lambda one: one[1] == "> open", events)]
    stepped: set[int] = set()
    for number, event in events:
        yield number, event
        stepped |= {number} if event == "< taken" else set()
        if stepped == set(opened):
            return


def _event(what: str, message: dict[str, Any]) -> str:
    if not message:
        return what
    mark = {"request": ">", "answer": "<"}[what]
    count = f" count={message['count']}" if message["type"] == "take" else ""
    return f"{mark} {message['type']}{count}"


def without_repeats(events: list[str]) -> list[str]:
    """Blocks of events that follow themselves stand once."""
    shorter = list(events)
    for size in range(1, LONGEST_BLOCK + 1):
        start = 0
        while start + 2 * size <= len(shorter):
            if shorter[start : start + size] == shorter[start + size : start + 2 * size]:
                del shorter[start : start + size]
            else:
                start += 1
    return shorter


if __name__ == "__main__":
    main()
