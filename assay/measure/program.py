"""Run a command: stream its output, monitor it, and return how it ended."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.core import guard
from assay.core.clock import clock
from assay.core.errors import EndingError
from assay.measure.monitoring import Monitoring
from assay.measure.process import kill_error, out_of_memory_kills

if TYPE_CHECKING:
    import resource

CHUNK = 1 << 16
PIPE = 1 << 20  # bytes that a command can write while assay is busy
MAX_BACKLOG = 64 << 20  # bytes that are read before they are processed
QUIET = 0.002  # seconds without output after which the backlog is processed
GRACE = 3.0  # seconds between asking a command to end and ending it

FeedCallback = Callable[[bytes], None]


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A command that is a str is run by a shell."""

    command: str | tuple[str, ...]
    directory: str = "."
    environment: dict[str, str] = {}
    timeout: float = 3600.0


class ProgramResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended: `code` is its exit status, below 0 the signal that ended it."""

    code: int
    seconds: float
    peaks: dict[str, float]
    left_behind: tuple[str, ...] = ()  # processes that left its group, and were ended too
    slowed: float = 0.0  # seconds that the command may have waited because of its output


def run_program(program: Program, folder: Path, feed: FeedCallback) -> ProgramResult:
    """Run it to its end; `feed` gets every chunk of output. Raises EndingError on a timeout."""
    kills = out_of_memory_kills()
    running: _Running | None = None
    try:
        with defer_signals():
            running = _Running(program, feed)
        running.monitor(folder)
        ended = running.wait()
    except BaseException:
        if running:
            running.stop()
        raise
    if ended.code == -signal.SIGKILL and out_of_memory_kills() > kills:
        raise kill_error("the command", running.usage)
    return ended


class _Running:
    """A started command; its whole process group ends with it."""

    def __init__(self, program: Program, feed: FeedCallback) -> None:
        self._program, self._backlog = program, _Backlog(feed)
        self._monitoring: Monitoring | None = None
        self.left_behind: list[str] = []
        self.usage: resource.struct_rusage | None = None
        self._mark = guard.mark_environment()
        try:
            self._output, output = os.pipe()
            os.set_blocking(self._output, False)
            with contextlib.suppress(OSError):  # beyond the user's limit
                import fcntl  # Linux and macOS only

                fcntl.fcntl(output, fcntl.F_SETPIPE_SZ, PIPE)
        except OSError as error:
            raise EndingError("failed", _start_error(program, error)) from None
        self._begun = clock()
        try:
            self._process = subprocess.Popen(
                program.command,
                shell=isinstance(program.command, str),
                cwd=program.directory,
                env={**os.environ, **program.environment, **self._mark},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL in a word
            os.close(self._output)
            raise EndingError("failed", _start_error(program, error)) from None
        finally:
            os.close(output)

    def monitor(self, folder: Path) -> None:
        self._monitoring = Monitoring(self._process.pid, folder)

    def wait(self) -> ProgramResult:
        """Wait for output, for monitors that are due, and for the end."""
        deadline = time.monotonic() + self._program.timeout
        pidfd = os.pidfd_open(self._process.pid)  # readable the moment it ends
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._output, selectors.EVENT_READ)
                selector.register(pidfd, selectors.EVENT_READ)
                while not self._poll(pidfd, selector, deadline):
                    pass
        finally:
            os.close(pidfd)
        seconds = clock() - self._begun
        peaks = self._clean_up()
        return ProgramResult(
            code=self._process.returncode,
            seconds=seconds,
            peaks=peaks,
            left_behind=tuple(self.left_behind),
            slowed=self._backlog.slowed,
        )

    def stop(self) -> None:
        """Ask the group to end, then end it."""
        if self._process.returncode is None:
            _signal(self._process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE)
            _signal(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._clean_up()

    def _poll(self, pidfd: int, selector: selectors.BaseSelector, deadline: float) -> bool:
        left = deadline - time.monotonic()
        if left <= 0:
            limit = self._program.timeout
            raise EndingError("timeout", f"not finished after {limit:g} s")
        pause = self._monitoring.look() if self._monitoring else left
        pause = min(pause, QUIET) if self._backlog else pause
        events = selector.select(min(left, pause))
        if not events:
            self._backlog.process_chunk()
        for key, _ in events:
            if key.fd == pidfd:
                _, status, self.usage = os.wait4(self._process.pid, 0)
                self._process.returncode = os.waitstatus_to_exitcode(status)
                return True
            if not self._backlog.fill(self._output):
                selector.unregister(self._output)
        return False

    def _clean_up(self) -> dict[str, float]:
        """End what is left of the group, read its last output, return the peaks."""
        if self._output < 0:
            return {}
        _signal(self._process.pid, signal.SIGKILL)
        self.left_behind = guard.kill_marked(self._mark, self._process.pid)
        self._backlog.process_all()
        self._backlog.fill(self._output)  # a pipe holds less than the backlog
        self._backlog.process_all()
        os.close(self._output)
        self._output = -1
        return self._monitoring.end(self.usage) if self._monitoring else {}


class _Backlog:
    """Output of a command that is read at once and processed while the command is quiet, so that it
    does not wait. Only where the backlog is full, the command waits; that time is `slowed`."""

    def __init__(self, feed: FeedCallback) -> None:
        self._feed = feed
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self.slowed = 0.0

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def fill(self, descriptor: int) -> bool:
        """Read what is there, up to the limit; False at the end of the output."""
        with contextlib.suppress(BlockingIOError):
            while self._size < MAX_BACKLOG:
                chunk = os.read(descriptor, CHUNK)
                if not chunk:
                    return False
                self._chunks.append(chunk)
                self._size += len(chunk)
            start = clock()
            self.process_chunk()
            self.slowed += clock() - start
        return True

    def process_chunk(self) -> None:
        if self._chunks:
            chunk = self._chunks.popleft()
            self._size -= len(chunk)
            self._feed(chunk)

    def process_all(self) -> None:
        while self._chunks:
            self.process_chunk()


@contextlib.contextmanager
def defer_signals() -> Iterator[None]:
    """Defer signals: while a process is being started, nobody could end it yet."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals come to the main thread only
        return
    pending: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {n: signal.signal(n, lambda number, _: pending.append(number)) for n in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for late in pending:
            signal.raise_signal(late)


def _start_error(program: Program, error: OSError | ValueError) -> str:
    name = program.command if isinstance(program.command, str) else program.command[0]
    why = getattr(error, "strerror", None) or error
    if getattr(error, "filename", "") == program.directory:
        return f"the folder {program.directory} cannot be entered ({why})"
    return f"the command {name} could not be started ({why})"


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)
