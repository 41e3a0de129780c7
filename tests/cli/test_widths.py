"""Tables and verdicts on a terminal of 80 or 40 columns, with and without colours, in a pipe."""

from __future__ import annotations

import csv
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

from tests.frozen import outputs

ESCAPE = re.compile(r"\x1b\[\d*m")
COMMANDS = (
    "list",
    "list results",
    "show cxuw",
    "show cxuw/001",
    "show 2y7v",
    "show qwvz",
    "compare before after",
    "explain cxuw/001 2y7v/001",
    "history cases.py:nap@python",
    "check --all",
    *(f"show {ending}" for ending in sorted(outputs.RUNS)),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with outputs.copied_store(tmp_path_factory.mktemp("widths")) as home:
        yield home


def shown(store, words: str, columns: int, **variables: str) -> str:
    """What the command line shows on a terminal of so many columns."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = os.environ | {"ASSAY_STORE": str(store), "TERM": "xterm"} | variables
    environment.pop("COLUMNS", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", *words.split()],
        stdin=side,
        stdout=side,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    os.close(side)
    text = b""
    while part := _read(main):
        text += part
    os.close(main)
    assert process.wait() in (0, 5), text
    return text.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # its other end was closed
        return b""


def too_wide(text: str, columns: int) -> list[str]:
    """Lines that a terminal would break; a word that is longer than a line is not an error."""
    return [
        line
        for line in text.split("\n")
        if len(line) > columns and max(map(len, line.split())) < columns - 10
    ]


@pytest.mark.parametrize("columns", [80, 40])
@pytest.mark.parametrize("words", dict.fromkeys(COMMANDS))
def test_no_row_is_wider_than_the_terminal(store, words, columns):
    text = shown(store, words, columns, NO_COLOR="1")

    assert text.strip()
    assert too_wide(text, columns) == []
    assert "\x1b" not in text


def test_a_verdict_has_a_colour_on_a_terminal_alone(store):
    run = next(r for r in outputs.RUNS if "bisect" in _verb(r))

    assert ESCAPE.search(shown(store, f"show {run}", 80))
    assert not ESCAPE.search(shown(store, f"show {run}", 80, NO_COLOR="1"))
    assert not ESCAPE.search(shown(store, f"show {run}", 80, TERM="dumb"))


def _verb(ending: str) -> str:
    plan = outputs.STORE / "runs" / outputs.RUNS[ending] / "plan.json"
    return plan.read_text() if plan.exists() else ""


def test_a_pipe_gets_rows_in_one_piece_and_no_escape_sequence(store, assay, monkeypatch):
    monkeypatch.setenv("ASSAY_STORE", str(store))

    status, out, _ = assay("show", "cxuw")

    assert status == 0 and "\x1b" not in out
    assert any(len(line) > 80 for line in out.split("\n"))


@pytest.mark.parametrize("ending", sorted(outputs.RUNS))
def test_a_run_begins_with_its_verdict(store, assay, monkeypatch, ending):
    monkeypatch.setenv("ASSAY_STORE", str(store))

    _, listed, _ = assay("list", "--limit", "0", "--format", "csv")
    status, out, _ = assay("show", ending)

    rows = {row["run"]: row["result"] for row in csv.DictReader(io.StringIO(listed))}
    first = out.split("\n")[0]
    verdict = rows.get(outputs.RUNS[ending], first)  # a pair of a bisect is in the row of that
    assert status == 0
    assert first and not first.startswith("case ")
    assert first.startswith("fastest:") or first.split()[0] == verdict.split()[0]
