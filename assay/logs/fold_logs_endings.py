"""How a command ended, from its exit status and the last lines of its log."""

from __future__ import annotations

import re

from assay.core.errors import signal_name
from assay.core.records import Status

LAST = 40  # lines of the end that are looked at

_OUT_OF_MEMORY = re.compile(
    r"out of memory|OutOfMemory|\bOOM\b|ResourceExhausted|RESOURCE_EXHAUSTED"
    r"|\bMemoryError\b|std::bad_alloc|Cannot allocate memory|CUDNN_STATUS_ALLOC_FAILED"
    r"|CUBLAS_STATUS_ALLOC_FAILED|DefaultCPUAllocator: (?:can't|not enough)|oom[-_]kill"
)
_RAISED = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)\b.*", re.MULTILINE)
_TRACEBACK = "Traceback (most recent call last)"


def ending(tail: str, returncode: int | None = None) -> tuple[Status, str]:
    """Status and reason. Without an exit status (a log found later) the log's end decides."""
    if returncode == 0:
        return "ok", ""
    lines = [line for line in tail.split("\n") if line.strip()][-LAST:]
    end = "\n".join(lines)
    memory = next((line for line in reversed(lines) if _OUT_OF_MEMORY.search(line)), "")
    if returncode is None:
        return _from_log(lines, memory, end)
    how = _how(returncode)
    if memory:
        return "out-of-memory", f"{how}: {memory.strip()[:200]}"
    last = _raised(end) or (lines[-1].strip() if lines else "it printed nothing")
    return ("crashed" if returncode < 0 else "failed"), f"{how}: {last[:200]}"


def _from_log(lines: list[str], memory: str, end: str) -> tuple[Status, str]:
    raised = _raised(end)
    # Many programs go on after they caught one: only an error nothing but itself follows counts.
    if memory and (raised or memory in lines[-3:]):
        return "out-of-memory", f"the log ends with: {memory.strip()[:200]}"
    if lines and lines[-1].strip() == "Killed":
        return "crashed", "the log ends with: Killed"
    if raised:
        return "failed", f"the log ends with: {raised[:200]}"
    return "ok", ""


def _raised(end: str) -> str:
    """The exception that a traceback near the end names, where nothing much follows it."""
    place = end.rfind(_TRACEBACK)
    found = list(_RAISED.finditer(end, place)) if place >= 0 else []
    if not found or end.count("\n", found[-1].end()) > 5:
        return ""
    return found[-1][0].strip()


def _how(returncode: int) -> str:
    if returncode >= 0:
        return f"the command ended with exit status {returncode}"
    return f"the command was ended by {signal_name(-returncode)}"
