"""Bytes → text of complete lines, without control sequences, in any encoding."""

from __future__ import annotations

import codecs
import re

MAX_LINE = 1 << 20  # bytes of a line; longer ones are split, to bound memory

_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*([@-~])"  # colours and cursor moves
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # titles and links
    r"|\x1b[()#][0-9A-Za-z]|\x1b[=>78McDEHNOZ\\]"
)
_MOVES = frozenset("ABCDEFGHfJ")  # cursor moves count as line ends
_LINE_END = re.compile(rb"[\r\n]")
_BACKSPACES = re.compile("\b+")
_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def _decode_latin_1(error: UnicodeError) -> tuple[str, int]:
    """Error handler: decode invalid UTF-8 as Latin-1."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("assay-latin-1", _decode_latin_1)


class Lines:
    """Converts chunks of any size to text of complete lines, independent of the chunks.

    Each redraw of a progress bar is a line. UTF-8, with Latin-1 for invalid bytes; UTF-16 if the
    log begins so.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self._rest = b""
        self._wide: codecs.IncrementalDecoder | None = None
        self._begun = False

    def feed(self, chunk: bytes) -> str:
        """The lines that are complete now, with line ends, or ""."""
        self.bytes += len(chunk)
        if len(chunk) <= MAX_LINE:
            return self._feed(chunk)
        pieces = range(0, len(chunk), MAX_LINE)
        return "".join(self._feed(chunk[start : start + MAX_LINE]) for start in pieces)

    def finish(self) -> str:
        """The rest without a line end."""
        data = self._rest if self._begun else self._begin(self._rest)
        if self._wide:
            data += self._wide.decode(b"", True).encode()
        self._rest = b""
        return _plain(data + b"\n") if data else ""

    def _feed(self, chunk: bytes) -> str:
        data = self._rest + chunk
        if not self._begun:
            if len(data) < 4:
                self._rest = data
                return ""
            data = self._begin(data)
        elif self._wide:
            data = self._rest + self._wide.decode(chunk).encode()
        return self._complete_lines(data)

    def _begin(self, data: bytes) -> bytes:
        self._begun = True
        encoding = _WIDE.get(data[:2], "")
        if not encoding and len(data) >= 4 and data[0] and data[1:4:2] == b"\0\0":
            encoding = "utf-16-le"
        if not encoding:
            return data.removeprefix(codecs.BOM_UTF8)
        self._wide = codecs.getincrementaldecoder(encoding)(errors="replace")
        return self._wide.decode(data).removeprefix("\ufeff").encode()

    def _complete_lines(self, data: bytes) -> str:
        before = b""
        while len(data) > MAX_LINE and not _LINE_END.search(data, 0, MAX_LINE + 1):
            before, data = before + data[:MAX_LINE] + b"\n", data[MAX_LINE:]
        # A \r at the very end may be half of \r\n; every other one ends a line.
        end = 1 + max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1))
        self._rest = data[end:]
        whole = before + data[:end]
        return _plain(whole) if whole else ""


def _plain(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "assay-latin-1")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in text:
        text = _CONTROL.sub(lambda match: "\n" if match[1] and match[1] in _MOVES else "", text)
    return _BACKSPACES.sub("\n", text) if "\b" in text else text
