"""What a parent and its workers say to each other: `python -m tests.frozen.log` writes the files.

Of each worker, in order: `> TAG` goes to it, `< TAG` comes from it, SIGSTOP and SIGCONT stop and
continue its process group. Something that is repeated (samples of the warm-up, turns of a pair)
stands once, whatever its number, since that depends on time; so does the order between two workers,
but for the beginning: the first ten events, each after the number of its worker.
"""

from __future__ import annotations

import json
import sys
import tempfile
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
    workers: dict[str, list[str]] = {}
    fields: dict[str, list[str]] = {}
    for number, what, message in log.events:
        workers.setdefault(f"worker {number + 1}", []).append(_event(what, message))
        if message:
            fields[message["type"]] = sorted(message.keys() - {"type"})
    shortened = {worker: without_repeats(events) for worker, events in workers.items()}
    return {
        "beginning": [f"{n + 1} {_event(what, message)}" for n, what, message in log.events[:10]],
        "workers": shortened,
        "fields": dict(sorted(fields.items())),
    }


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
