"""A worker process as its parent sees it: pipes, log, deadline, monitors, end."""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from assay.core import guard
from assay.core.codec import UNREADABLE
from assay.core.errors import EndingError, signal_name
from assay.core.messages import (
    ENDINGS,
    MAX_MESSAGE,
    Close,
    Done,
    Failed,
    Reported,
    Request,
    Response,
    TimedSteps,
    pack,
    unpack,
)
from assay.core.records import Case
from assay.measure import process_env
from assay.measure.monitoring import Monitoring

if TYPE_CHECKING:
    import resource

GRACE = 3.0  # seconds that a worker has to exit by itself
OOM_SHARE = 0.05  # of all memory: the out-of-memory killer does not choose a process with less


class WorkerProcess:
    """A worker process. Its whole group ends with the `with` block; then `peaks` are known."""

    def __init__(self, case: Case, folder: Path, timeout: float) -> None:
        self.peaks: dict[str, float] = {}
        self.left_behind: list[str] = []  # processes that left its group, and were ended too
        self._usage: resource.struct_rusage | None = None
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout
        self._paused_at = 0.0  # when it was paused; 0: it is running
        self._buffer = bytearray()
        self._kills = out_of_memory_kills()
        self._mark = guard.mark_environment()
        command, variables = self._start(case, folder)
        orders, self._orders, self._answers, answers, self._output, output = _pipes(3)
        try:
            self._process = subprocess.Popen(
                [*command, str(orders), str(answers)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(orders, answers),
                env={**os.environ, **variables, **self._mark},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL in a path or variable
            self._close(self._orders, self._answers, self._output)
            why = getattr(error, "strerror", None) or error
            raise EndingError("failed", f"{command[0]} did not start: {why}") from None
        finally:
            self._close(orders, answers, output)
        self.clocks = Clocks()
        self._log = TruncatedLog(folder / "worker.log")
        self._monitoring = Monitoring(self._process.pid, folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.unpause()  # a stopped process cannot answer or exit
        try:
            self._monitoring.look(everything=True)  # cumulative values are highest at the end
            if kind is None:  # the measurement is complete: errors no longer matter
                self._deadline = time.monotonic() + GRACE
                with contextlib.suppress(EndingError):
                    list(self.ask(Close()))
        finally:
            self._end()

    def ask(self, request: Request) -> Iterator[Response]:
        """The worker's answers to one request. Raises EndingError if it cannot answer."""
        self.send(request)
        start = time.monotonic()
        for answer in self.answers():
            if isinstance(answer, TimedSteps):
                self.clocks.add(time.monotonic() - start, answer)
            yield answer

    def send(self, request: Request) -> None:
        """Do not wait for its answers."""
        try:
            os.write(self._orders, pack(request))  # far less than a pipe holds
        except BrokenPipeError:
            raise self._exit_reason() from None

    def answers(self) -> Iterator[Response]:
        """To the request that was sent last."""
        while True:
            answer = self._next()
            if isinstance(answer, Failed):
                raise _ending_error(answer)
            if isinstance(answer, Done):
                return
            yield answer
            if not isinstance(answer, Reported):
                return

    def set_deadline(self, seconds: float) -> None:
        """A new limit, from now on."""
        self._timeout, self._deadline = seconds, time.monotonic() + seconds

    def pause(self) -> None:
        """Stop the process group; the time until it continues does not count for its timeout."""
        lives = self._process.returncode is None
        if lives and not self._paused_at and self._send_signal(signal.SIGSTOP):
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            self._paused_at = time.monotonic()

    def unpause(self) -> None:
        if self._paused_at and self._send_signal(signal.SIGCONT):
            self._deadline += time.monotonic() - self._paused_at
        self._paused_at = 0.0

    def _send_signal(self, number: int) -> bool:
        """Whether the group still existed."""
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return False
        return True

    def _start(self, case: Case, folder: Path) -> tuple[list[str], dict[str, str]]:
        """The command and its additional variables."""
        return process_env.interpreter(case, folder), process_env.variables(case, folder)

    def _next(self) -> Response:
        """Wait for one answer and drain the worker's output meanwhile."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            selector.register(self._output, selectors.EVENT_READ)
            while True:
                for body in unpack(self._buffer):
                    return _read(body)
                if _message_length(self._buffer) > MAX_MESSAGE:
                    raise EndingError("crashed", "the worker wrote invalid data into its pipe")
                pause = self._monitoring.look()  # this thread would only sleep here
                left = self._deadline - time.monotonic()
                ready = [key.fd for key, _ in selector.select(max(0.0, min(left, pause)))]
                if left <= 0 and self._answers not in ready:  # else an answer came in time
                    raise EndingError("timeout", f"not finished after {self._timeout:g} s")
                for fd in ready:
                    self._receive(fd, selector)

    def _receive(self, fd: int, selector: selectors.BaseSelector) -> None:
        chunk = os.read(fd, 1 << 20)
        if fd == self._answers:
            if not chunk:
                raise self._exit_reason()
            self._buffer += chunk
        elif chunk:
            self._log.write(chunk)
        else:
            selector.unregister(fd)

    def _exit_reason(self) -> EndingError:
        code = self._wait(GRACE)
        if code is None:
            return EndingError("crashed", "the worker closed its pipe without exiting")
        if code == -signal.SIGKILL and out_of_memory_kills() > self._kills:
            return kill_error("the worker", self._usage)
        if code < 0:
            return EndingError("crashed", f"the worker was ended by {signal_name(-code)}")
        return EndingError(
            "crashed", f"the worker ended with exit status {code} before it answered"
        )

    def _end(self) -> None:
        self._close(self._orders, self._answers)
        self._send_signal(signal.SIGKILL)
        self._wait(patience=math.inf)
        self.left_behind = guard.kill_marked(self._mark, self._process.pid)
        self.peaks = self._monitoring.end(self._usage)
        os.set_blocking(self._output, False)
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self._output, 1 << 20):
                self._log.write(chunk)
        self._close(self._output)
        self._log.close()

    def _wait(self, patience: float) -> int | None:
        """The exit code, or None while it runs. By wait4, which reports the resource usage."""
        end, pause = time.monotonic() + patience, 0.0005
        while self._process.returncode is None:
            pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
            if pid:
                self._usage = usage
                self._process.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                return None
            else:
                time.sleep(pause)
                pause = min(0.05, 2 * pause)
        return self._process.returncode

    @staticmethod
    def _close(*ends: int) -> None:
        for end in ends:
            os.close(end)


def _pipes(count: int) -> list[int]:
    """Both ends of each; none if there are not enough file descriptors."""
    ends: list[int] = []
    try:
        for _ in range(count):
            ends += os.pipe()
    except OSError as error:
        WorkerProcess._close(*ends)
        raise EndingError("failed", f"the worker did not start: {error.strerror}") from None
    return ends


def _read(body: bytes) -> Response:
    try:
        answer: Response = msgspec.msgpack.decode(body, type=Response)
    except UNREADABLE as error:
        raise EndingError("failed", f"the worker's answer cannot be read: {error}") from None
    return answer


def _message_length(buffer: bytearray) -> int:
    """Bytes of the message that is being received."""
    return int.from_bytes(buffer[:4], "little") if len(buffer) >= 4 else 0


def _ending_error(answer: Failed) -> EndingError:
    """As the worker reports, if it is a known status."""
    if answer.status in ENDINGS:
        return EndingError(answer.status, answer.reason, answer.phases)
    return EndingError("failed", f"{answer.reason} (it called this '{answer.status[:40]}')")


def kill_error(what: str, usage: resource.struct_rusage | None) -> EndingError:
    """Ended by SIGKILL while the kernel's out-of-memory killer was active: it only kills a process
    that uses much memory, so anything else was killed by somebody else."""
    if usage and 1024 * usage.ru_maxrss >= OOM_SHARE * memory_limit():
        return EndingError("out-of-memory", f"the kernel killed {what} for lack of memory")
    return EndingError(
        "crashed",
        f"{what} was ended by SIGKILL; memory ran out on this machine, but {what} had little of it",
    )


def memory_limit() -> int:
    """Bytes of the machine, or of the process's control group if less."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        return min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no such group, or no limit
        return total


def out_of_memory_kills() -> int:
    """How often the kernel's out-of-memory killer has run on this machine."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


MIN_CLOCK_SECONDS = 0.2  # of sampling, to compare the worker's clock with this process's
MIN_CLOCK_SHARE = 0.5  # of it that a worker reports at least: answers take time, too


class Clocks:
    """Time that a worker reported for its samples, and that passed here meanwhile."""

    def __init__(self) -> None:
        self._reported = self._passed = 0.0

    def add(self, passed: float, timed: TimedSteps) -> None:
        if timed.starts:
            self._reported += timed.starts[-1] + timed.seconds[-1] - timed.starts[0]
            self._passed += passed

    @property
    def suspicious_share(self) -> float:
        """Reported by passed time if a timer must have been changed, else 0."""
        if self._passed < MIN_CLOCK_SECONDS:
            return 0.0
        share = max(self._reported / self._passed, 1e-9)
        return share if share < MIN_CLOCK_SHARE else 0.0


HEAD_BYTES = 1 << 20  # bytes stored of the beginning
TAIL_BYTES = 1 << 20  # bytes stored of the end


class TruncatedLog:
    """The output of a worker. Of a large one the middle is counted, not stored."""

    def __init__(self, path: Path, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        self._file: FileIO | None = None
        with suppress(OSError):
            self._file = path.open("wb", buffering=0)
        self._head, self._tail = head, tail
        self._end = bytearray()
        self._dropped = 0

    def write(self, chunk: bytes) -> None:
        now, later = chunk[: self._head], chunk[self._head :]
        if now:
            self._put(now)
            self._head -= len(now)
        self._end += later
        if len(self._end) > 2 * self._tail:
            self._cut()

    def close(self) -> None:
        self._cut()
        if self._dropped:
            self._put(b"\n... %d bytes left out ...\n" % self._dropped)
        self._put(self._end)
        if self._file:
            self._file.close()

    def _put(self, data: bytes | bytearray) -> None:
        """A full disk does not end a measurement."""
        with suppress(OSError):
            if self._file:
                self._file.write(data)

    def _cut(self) -> None:
        extra = max(0, len(self._end) - self._tail)
        self._dropped += extra
        del self._end[:extra]
