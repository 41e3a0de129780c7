"""Exceptions for mistakes of a user: one sentence, one hint, one exit status."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping


class AssayError(Exception):
    """A mistake of the user or a missing requirement; the command line exits with `status`."""

    status = 1

    def __init__(self, sentence: str, hint: str = "") -> None:
        super().__init__(sentence)
        self.hint = hint


class UsageError(AssayError):
    """An unknown name, value, id or combination."""

    status = 2


class NotPossibleError(AssayError):
    """A valid request that this machine does not support."""

    status = 3


class StoreError(AssayError):
    """The store, or a file in it, cannot be read or written."""

    status = 4


class EndingError(Exception):
    """A case ended early. It becomes the status of a result, and is never shown as it is."""

    def __init__(self, status: str, reason: str, phases: Mapping[str, float] | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.phases = phases or {}  # of an opening that failed


def signal_name(number: int) -> str:
    """`SIGKILL`, or `signal 40` for signals without a name, such as real-time signals."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def unknown_name_error(kind: str, name: str, known: Iterable[str], hint: str = "") -> UsageError:
    """The error for an unknown name, with the nearest known one."""
    names = sorted(known)
    near = nearest_name(name, names)
    if near:
        hint = f"Did you mean '{near}'?"
    elif not hint:
        hint = f"Known: {', '.join(names)}." if names else f"There is no {kind} at all here."
    return UsageError(f"There is no {kind} named '{name}'.", hint=hint)


def nearest_name(name: str, known: Iterable[str], likeness: float = 0.5) -> str:
    """The known name that is most similar, ignoring case, or ""."""
    import difflib  # not at start-up, where it would cost 4 ms

    plain = {_plain(candidate): candidate for candidate in sorted(known, reverse=True)}
    near = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=likeness)
    return plain[near[0]] if near else ""


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")
