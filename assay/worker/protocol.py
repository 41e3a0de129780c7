"""Worker side of the protocol: read requests, write answers, format errors.

It needs the standard library and msgspec only, so that it runs in any virtual environment.
"""

from __future__ import annotations

import ctypes
import os
import queue
import re
import signal
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from assay.core.errors import AssayError, EndingError
from assay.core.messages import Failed, Request, Response, pack, unpack

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_SIGNAL_WHEN_PARENT_DIES = 1  # PR_SET_PDEATHSIG of linux/prctl.h

_STARTED = os.getpid()

# Messages of frameworks when a device or the host is out of memory.
_OUT_OF_MEMORY = (
    "RESOURCE_EXHAUSTED",
    "out of memory",
    "OOM when allocating",
    "Unable to allocate",
    "can't allocate memory",
    "Cannot allocate memory",
    "bad_alloc",
)


def read_requests(pipe: int) -> Iterator[Request]:
    """Requests as they come. When the parent is gone, this process group is killed."""
    # a stopped process, or one that holds the interpreter's lock, would not see the closed pipe
    ctypes.CDLL(None).prctl(_SIGNAL_WHEN_PARENT_DIES, signal.SIGKILL)
    os.set_inheritable(pipe, False)
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        buffer = bytearray()
        while chunk := os.read(pipe, 65536):
            buffer += chunk
            for body in unpack(buffer):
                inbox.put(body)
        os.killpg(os.getpid(), signal.SIGKILL)  # the parent started this process as group leader

    threading.Thread(target=listen, daemon=True).start()
    decoder = msgspec.msgpack.Decoder(Request)
    while True:
        yield decoder.decode(inbox.get())


def send(pipe: int, answer: Response) -> None:
    """Only from the process that was started: a fork that a step left behind exits here."""
    if os.getpid() != _STARTED:
        os._exit(0)
    os.set_inheritable(pipe, False)
    data = memoryview(pack(answer))
    while data:
        data = data[os.write(pipe, data) :]


def failure(error: Exception) -> Failed:
    if isinstance(error, EndingError):
        return Failed(status=error.status, reason=error.reason)
    words = _error_text(error)
    if isinstance(error, MemoryError) or any(sign in words for sign in _OUT_OF_MEMORY):
        return Failed(status="out-of-memory", reason=f"{type(error).__name__}: {words}")
    if isinstance(error, AssayError):
        return Failed(status="failed", reason=f"{words} {error.hint}".strip())
    context = "".join(getattr(error, "__notes__", ()))
    return Failed(status="failed", reason=f"{context}{type(error).__name__}: {words}")


def packages() -> dict[str, str]:
    """Versions of the packages this process has loaded."""
    from importlib import metadata

    loaded = {name.partition(".")[0] for name in sys.modules}
    versions: dict[str, str] = {}
    for distribution in metadata.distributions():
        if not loaded.isdisjoint(_top_level(distribution)):
            text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
            head = text.partition("\n\n")[0]
            fields = dict(line.partition(": ")[::2] for line in head.splitlines())
            versions.setdefault(fields.get("Name", ""), fields.get("Version", ""))
    return dict(sorted(versions.items()))


def _top_level(distribution: Distribution) -> set[str]:
    """Its importable names, as metadata.packages_distributions finds them, which takes a quarter of
    a second because it makes a path object of every installed file."""
    names = (distribution.read_text("top_level.txt") or "").split()
    if names:
        return set(names)
    lines = (distribution.read_text("RECORD") or "").splitlines()
    firsts = {line.partition(",")[0].partition("/")[0] for line in lines}
    return {name.partition(".")[0] for name in firsts}


def _error_text(error: Exception) -> str:
    """The error's text without colours and the stack of TensorFlow."""
    lines = re.sub(r"\x1b\[\d*m", "", str(error)).splitlines()
    reported = [line for line in lines if line.strip() and not line.lstrip().startswith('File "')]
    return "\n".join(reported) or type(error).__name__
