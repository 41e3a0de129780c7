"""What a user can do wrong, as exceptions: one sentence, one hint, one exit status."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping


class AssayError(Exception):
    """A mistake or a lack that is not our bug; the command line leaves with `status`."""

    status = 1

    def __init__(self, sentence: str, hint: str = "") -> None:
        super().__init__(sentence)
        self.hint = hint


class UsageError(AssayError):
    """An unknown name, value, id or combination."""

    status = 2


class NotPossibleError(AssayError):
    """Rightly asked, but this machine lacks what it needs."""

    status = 3


class StoreError(AssayError):
    """The store, or a file in it, cannot be read or written."""

    status = 4


class EndingError(Exception):
    """A case ended early. Never shown to a user as it is: it becomes the status of a result."""

    def __init__(self, status: str, reason: str, phases: Mapping[str, float] | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.phases = phases or {}  # of an opening that failed


def signal_name(number: int) -> str:
    """`SIGKILL`; of those without a name, such as real-time signals, `signal 40`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def unknown(kind: str, name: str, known: Iterable[str], hint: str = "") -> UsageError:
    """The error for a name that is not there, with the nearest one that is."""
    names = sorted(known)
    near = nearest(name, names)
    if near:
        hint = f"Did you mean '{near}'?"
    elif not hint:
        hint = f"Known: {', '.join(names)}." if names else f"There is no {kind} at all here."
    return UsageError(f"There is no {kind} named '{name}'.", hint=hint)


def nearest(name: str, known: Iterable[str], likeness: float = 0.5) -> str:
    """The one of the known names that is most like this one, whatever its case; or ""."""
    import difflib  # only when something is wrong: it would cost every start 4 ms

    plain = {_plain(one): one for one in sorted(known, reverse=True)}
    near = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=likeness)
    return plain[near[0]] if near else ""


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")
