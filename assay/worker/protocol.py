"""What every child process does: hears orders, says answers, words its failures.

It needs the standard library and msgspec alone, so that any virtual environment can hold it.
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
from assay.core.messages import Answer, Failed, Request, pack, unpack

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_SIGNAL_WHEN_PARENT_DIES = 1  # PR_SET_PDEATHSIG of linux/prctl.h

_STARTED = os.getpid()

# How the frameworks word it when a device or the host has no memory left.
_OUT_OF_MEMORY = (
    "RESOURCE_EXHAUSTED",
    "out of memory",
    "OOM when allocating",
    "Unable to allocate",
    "can't allocate memory",
    "Cannot allocate memory",
    "bad_alloc",
)


def orders_from(pipe: int) -> Iterator[Request]:
    """Orders as they come. When the parent is gone, this whole process group ends at once."""
    # who stands still, or holds the interpreter's lock, could not see that the pipe is closed
    ctypes.CDLL(None).prctl(_SIGNAL_WHEN_PARENT_DIES, signal.SIGKILL)
    os.set_inheritable(pipe, False)
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        buffer = bytearray()
        while chunk := os.read(pipe, 65536):
            buffer += chunk
            for body in unpack(buffer):
                inbox.put(body)
        os.killpg(os.getpid(), signal.SIGKILL)  # the group is ours: launch made it so

    threading.Thread(target=listen, daemon=True).start()
    decoder = msgspec.msgpack.Decoder(Request)
    while True:
        yield decoder.decode(inbox.get())


def say(pipe: int, answer: Answer) -> None:
    """Only the process that was started speaks: a fork that a step left behind ends here."""
    if os.getpid() != _STARTED:
        os._exit(0)
    os.set_inheritable(pipe, False)
    data = memoryview(pack(answer))
    while data:
        data = data[os.write(pipe, data) :]


def failure(error: Exception) -> Failed:
    if isinstance(error, EndingError):
        return Failed(status=error.status, reason=error.reason)
    words = _words(error)
    if isinstance(error, MemoryError) or any(sign in words for sign in _OUT_OF_MEMORY):
        return Failed(status="out-of-memory", reason=f"{type(error).__name__}: {words}")
    if isinstance(error, AssayError):
        return Failed(status="failed", reason=f"{words} {error.hint}".strip())
    where = "".join(getattr(error, "__notes__", ()))  # what it was about, if someone has said
    return Failed(status="failed", reason=f"{where}{type(error).__name__}: {words}")


def packages() -> dict[str, str]:
    """Versions of the packages this process has loaded: those that can have made the number."""
    from importlib import metadata

    loaded = {name.partition(".")[0] for name in sys.modules}
    found: dict[str, str] = {}
    for one in metadata.distributions():
        if not loaded.isdisjoint(_top_level(one)):
            text = one.read_text("METADATA") or one.read_text("PKG-INFO") or ""
            head = text.partition("\n\n")[0]
            said = dict(line.partition(": ")[::2] for line in head.splitlines())
            found.setdefault(said.get("Name", ""), said.get("Version", ""))
    return dict(sorted(found.items()))


def _top_level(one: Distribution) -> set[str]:
    """What can be imported of it. As metadata.packages_distributions finds it, which makes a path
    object of every file that is installed here, and takes a quarter of a second for that."""
    said = (one.read_text("top_level.txt") or "").split()
    if said:
        return set(said)
    lines = (one.read_text("RECORD") or "").splitlines()
    firsts = {line.partition(",")[0].partition("/")[0] for line in lines}
    return {name.partition(".")[0] for name in firsts}


def _words(error: Exception) -> str:
    """The error's text without colours and the stack that TensorFlow puts into it."""
    lines = re.sub(r"\x1b\[\d*m", "", str(error)).splitlines()
    reported = [line for line in lines if line.strip() and not line.lstrip().startswith('File "')]
    return "\n".join(reported) or type(error).__name__
