"""A small world for one fault: a home, a folder to work in, and all the rest, which stays as it is.

The command line runs in a process of its own there, or in this one where many faults are tried on
files. Whatever it starts carries the world's mark, so that what lives on can be found.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import signal
import subprocess
import sys
import time
import traceback
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from assay.cli import main

ROOT = Path(__file__).parents[2]
SECRET = "s3cr3t-Value-42"
ESCAPE = "\x1b]0;owned\x07"
OBEYED = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]")
ASSAY = [sys.executable, "-c", "from assay.__main__ import main; main()"]
PATIENCE = 120.0  # seconds; a command that takes longer hangs, and that is a finding


class Answer(NamedTuple):
    status: int
    out: bytes
    err: bytes


class World:
    """Folders of one fault, below one that nothing else uses."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.home, self.work, self.spare = base / "home", base / "work", base / "tmp"
        for folder in (self.work, self.spare, base / "victim" / "deeper"):
            folder.mkdir(parents=True)
        (base / "victim" / "precious").write_text("as it was")
        self.kept: set[str] = set()  # ids of results that no fault may lose
        self._mark = uuid.uuid4().hex
        self._before = self._others()

    @property
    def variables(self) -> dict[str, str]:
        return {
            **os.environ,
            "ASSAY_HOME": str(self.home),
            "HOME": str(self.base / "victim"),
            "TMPDIR": str(self.spare),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "FAULT_MARK": self._mark,
            "JAX_FAULT": f"Bearer {SECRET}",
        }

    def begin(self, words: Sequence[str], prepare: Callable[[], None] | None = None) -> Running:
        started = subprocess.Popen(
            [*ASSAY, *words],
            cwd=self.work,
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            preexec_fn=prepare,
        )
        return Running(started)

    def call(self, *words: str) -> Answer:
        return self.begin(words).end()

    def wrong_with(self, *words: str) -> list[str]:
        """The command line in this process, which is quicker; what is wrong with its answer."""
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch:
            for name in ("ASSAY_HOME", "HOME", "TMPDIR"):
                patch.setenv(name, self.variables[name])
            patch.setattr(sys, "argv", ["assay", *words])
            patch.chdir(self.work)
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), in_time():
                try:
                    main.main()
                except SystemExit:
                    pass
                except BaseException:
                    return [f"{' '.join(words)}: {traceback.format_exc()[-3000:]}"]
        # CSV into a file keeps what there was
        texts = (err.getvalue(),) if "csv" in words else (out.getvalue(), err.getvalue())
        said = "".join(texts).encode(errors="surrogatepass")
        found = OBEYED.search(said)
        return [f"{' '.join(words)} printed {said[found.start() - 50 :][:99]!r}"] if found else []

    def alive(self) -> list[str]:
        """What carries the mark and still runs, after a moment to leave."""
        for _ in range(100):
            found = list(self._marked())
            if not found:
                return []
            time.sleep(0.05)
        return found

    def changed(self) -> list[str]:
        """Files outside home, work and temporary folder that are not as they were."""
        now = self._others()
        return sorted(k for k in {*now, *self._before} if now.get(k) != self._before.get(k))

    def written(self) -> dict[Path, bytes]:
        """What assay itself wrote: not what programs printed."""
        logs = {"worker.log", "log.gz", "process_info.log"}
        files = (file for file in self.home.rglob("*") if file.is_file() and not file.is_symlink())
        return {file: file.read_bytes() for file in files if file.name not in logs}

    def _others(self) -> dict[str, str]:
        own = {self.home, self.work, self.spare}
        found = {}
        for top in (p for p in self.base.iterdir() if p not in own):
            for file in (top, *top.rglob("*")):
                plain = file.is_file() and not file.is_symlink()
                data = file.read_bytes() if plain else b"folder"
                found[str(file)] = hashlib.sha256(data).hexdigest()
        return found

    def _marked(self) -> list[str]:
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdecimal():
                try:
                    if self._mark.encode() in Path(f"/proc/{entry}/environ").read_bytes():
                        words = Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ")
                        found.append(f"{entry}: {words.decode(errors='replace')[:100]}")
                except OSError:
                    continue
        return found


@contextlib.contextmanager
def in_time() -> Iterator[None]:
    def hung(*_: object) -> None:
        raise TimeoutError("it hung")

    before = signal.signal(signal.SIGALRM, hung)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Running:
    """A command line that runs."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> Answer:
        try:
            out, err = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            err += b"\nTraceback: it hung"
        return Answer(self.process.returncode, out, err)
