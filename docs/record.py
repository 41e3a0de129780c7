"""Record commands in a terminal and write them as an SVG image that plays: `make recording`.

The commands are run for real, in a store of their own. An image viewer that does not animate shows
the last screen.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

IMAGE = Path(__file__).parent / "images" / "terminal.svg"
COMMANDS = (
    "assay run mnist-mlp -b jax,keras-jax --budget 3s",
    "assay ab mnist-mlp@jax:compiler=off mnist-mlp@jax --budget 90s",
)
COLUMNS = 88
SECONDS = 20.0  # a longer recording is played faster
PERIOD = 0.2  # seconds between two images of the screen
WIDTH, HEIGHT, MARGIN = 8.4, 19, 14  # of a character, of a row, and around all, in pixels
PAUSE = 1.0  # seconds between two commands
COLOURS = {
    "31": "#f47067", "32": "#57ab5a", "33": "#c69026", "34": "#539bf5",
    "35": "#b083f0", "36": "#39c5cf", "90": "#768390", "2": "#909dab",
    "91": "#ff938a", "92": "#6bc46d", "93": "#daaa3f", "94": "#6cb6ff",
}  # fmt: skip
CONTROL = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b\][^\x07]*\x07")

Style = frozenset[str]
Cell = tuple[str, Style]
Row = tuple[Cell, ...]


class Change(NamedTuple):
    """What a row shows from a moment on."""

    start: float
    row: Row


class Screen:
    """A terminal of fixed width and any height, for the control sequences that assay prints."""

    def __init__(self, columns: int) -> None:
        self.rows: list[list[Cell]] = [[]]
        self._columns = columns
        self._row = self._column = 0
        self._style: Style = frozenset()

    def feed(self, text: str) -> None:
        position = 0
        for match in CONTROL.finditer(text):
            self._write(text[position : match.start()])
            self._control(match[1] or "", match[2] or "")
            position = match.end()
        self._write(text[position:])

    def _write(self, text: str) -> None:
        for character in text:
            if character == "\r":
                self._column = 0
            elif character == "\n":
                self._next_row()
            elif character >= " ":
                self._put(character)

    def _put(self, character: str) -> None:
        if self._column == self._columns:
            self._next_row()
        row = self.rows[self._row]
        row.extend([(" ", frozenset())] * (self._column + 1 - len(row)))
        row[self._column] = (character, self._style)
        self._column += 1

    def _next_row(self) -> None:
        self._row, self._column = self._row + 1, 0
        if self._row == len(self.rows):
            self.rows.append([])

    def _control(self, parameters: str, letter: str) -> None:
        number = int(parameters) if parameters.isdigit() else 1
        if letter == "K":
            del self.rows[self._row][0 if parameters == "2" else self._column :]
        elif letter == "J":
            del self.rows[self._row][self._column :], self.rows[self._row + 1 :]
        elif letter == "A":
            self._row = max(0, self._row - number)
        elif letter == "G":
            self._column = number - 1
        elif letter == "m":
            codes = set(parameters.split(";"))
            self._style = frozenset() if codes & {"", "0"} else self._style | codes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commands", nargs="*", default=COMMANDS)
    parser.add_argument("-o", "--output", type=Path, default=IMAGE)
    options = parser.parse_args()
    options.output.write_text(svg(record(options.commands, COLUMNS)))


def record(commands: list[str], columns: int) -> list[list[Change]]:
    """Run the commands; for each row of the screen what it showed and when."""
    screen, rows = Screen(columns), list[list[Change]]()
    start = last = time.perf_counter()
    with tempfile.TemporaryDirectory() as store:
        for number, command in enumerate(commands):
            time.sleep(PAUSE if number else 0)
            screen.feed(f"\x1b[1m$ {command}\x1b[0m\r\n")
            for text in _output(command, columns, store):
                screen.feed(text)
                if time.perf_counter() - last > PERIOD:
                    last = time.perf_counter()
                    _note_changes(rows, screen, last - start)
            screen.feed("\r\n")
            _note_changes(rows, screen, time.perf_counter() - start)
    return rows


def _output(command: str, columns: int, store: str) -> Iterator[str]:
    """Run a command in a terminal and yield what it prints."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    folder = Path(sys.executable).parent
    environment = {**os.environ, "TERM": "xterm-256color", "ASSAY_HOME": store}
    environment["PATH"] = f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"
    for name in ("NO_COLOR", "COLUMNS", "CI"):
        environment.pop(name, None)
    process = subprocess.Popen(
        shlex.split(command), stdin=other, stdout=other, stderr=other, env=environment
    )
    os.close(other)
    pending = b""
    while data := _read(main):
        text, pending = _decode(pending + data)
        yield text
    os.close(main)
    if status := process.wait():
        raise SystemExit(f"{command} ended with exit status {status}")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # on Linux, the program has closed its side
        return b""


def _decode(data: bytes) -> tuple[str, bytes]:
    """Text, and the bytes of a character or control sequence that is not complete yet."""
    end = len(data)
    if (escape_at := data.rfind(b"\x1b")) >= 0 and not CONTROL.match(
        data[escape_at:].decode(errors="replace")
    ):
        end = escape_at
    try:
        return data[:end].decode(), data[end:]
    except UnicodeDecodeError as error:
        return data[: error.start].decode(), data[error.start :]


def _note_changes(rows: list[list[Change]], screen: Screen, now: float) -> None:
    for number, cells in enumerate(screen.rows):
        if number == len(rows):
            rows.append([])
        row = tuple(cells)
        if (rows[number][-1].row if rows[number] else ()) != row:
            rows[number].append(Change(now, row))


def svg(rows: list[list[Change]]) -> str:
    """The recording as an image; the last screen is what it shows without animation."""
    while rows and not (rows[-1] and any(character != " " for character, _ in rows[-1][-1].row)):
        rows.pop()
    end = max(change.start for changes in rows for change in changes)
    scale = min(1.0, SECONDS / end)
    width = round(COLUMNS * WIDTH + 2 * MARGIN)
    height = len(rows) * HEIGHT + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">',
        "<title>assay in a terminal</title>",
        "<style>text { font: 14px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; "
        "fill: #cdd9e5; white-space: pre }</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#1c2128"/>',
    ]
    for number, changes in enumerate(rows):
        lines += _row_versions(changes, MARGIN + number * HEIGHT + 14, scale)
    return "\n".join([*lines, "</svg>", ""])


def _row_versions(changes: list[Change], y: int, scale: float) -> Iterator[str]:
    for number, (start, row) in enumerate(changes):
        begin = round(start * scale, 2)
        last = number == len(changes) - 1
        if last:
            animation = f'<set attributeName="visibility" to="hidden" begin="0s" end="{begin}s"/>'
            hidden = ""
        else:
            until = round(changes[number + 1].start * scale, 2)
            if until == begin:
                continue
            animation = (
                f'<set attributeName="visibility" to="visible" begin="{begin}s" end="{until}s"/>'
            )
            hidden = ' visibility="hidden"'
        if texts := "".join(_texts(row, y)):
            yield f"<g{hidden}>{animation}{texts}</g>"


def _texts(row: Row, y: int) -> Iterator[str]:
    """One element for each part of a row in one style, as wide as its characters."""
    start = 0
    while start < len(row):
        end = start
        while end < len(row) and row[end][1] == row[start][1]:
            end += 1
        text = "".join(character for character, _ in row[start:end])
        if text.strip():
            yield (
                f'<text x="{MARGIN + start * WIDTH:g}" y="{y}" xml:space="preserve" '
                f'textLength="{len(text) * WIDTH:g}"{_attributes(row[start][1])}>'
                f"{escape(text)}</text>"
            )
        start = end


def _attributes(style: Style) -> str:
    colour = next((COLOURS[code] for code in sorted(style, reverse=True) if code in COLOURS), "")
    bold = ' font-weight="bold"' if "1" in style else ""
    return bold + (f' style="fill: {colour}"' if colour else "")


if __name__ == "__main__":
    main()
