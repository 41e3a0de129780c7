"""Tab completion of command lines, without loading numpy."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from assay.core import settings
from assay.core.errors import AssayError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

NEWEST = 50  # runs that are offered
Completer: TypeAlias = "Callable[[click.Context, click.Parameter, str], list[CompletionItem]]"


class NumpyLater(ModuleType):
    """Placeholder for numpy, which loads it on first use."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get("numpy") is self:
            del sys.modules["numpy"]
        return getattr(importlib.import_module("numpy"), name)


def load_numpy_later() -> None:
    """Commands import numpy through what they measure with; completion does not use it."""
    sys.modules.setdefault("numpy", NumpyLater("numpy"))


def _words(find: Callable[[click.Context, str], Iterable[str]]) -> Completer:
    """Convert matches to click's items; an error earlier in the line gives no completions."""

    @wraps(find)
    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem  # 9 ms

        try:
            matches = list(find(ctx, incomplete))
        except AssayError:
            return []
        return [CompletionItem(match, type=_kind(match)) for match in matches]

    return complete


@_words
def cases(ctx: click.Context, incomplete: str) -> Iterable[str]:
    """`WORKLOAD`, then `@BACKEND`; or a file."""
    from assay.core.registry import names

    workload, at, prefix = _split_at(ctx, incomplete)
    if at:
        before = "" if _bash_broke(ctx, incomplete) else f"{workload}@"
        return [
            f"{before}{name}" for name in _supporting_backends(workload) if name.startswith(prefix)
        ]
    if _kind(incomplete) == "file":
        return [incomplete]
    return [name for name in names("workloads") if name.startswith(incomplete)]


@_words
def backends(_: click.Context, incomplete: str) -> Iterable[str]:
    """One backend, or several separated by commas."""
    from assay.core.registry import names

    before, comma, prefix = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in names("backends") if name.startswith(prefix)]


@_words
def runs(ctx: click.Context, incomplete: str) -> Iterable[str]:
    """`last` and the newest runs; after a slash, their results."""
    folder = settings.runs(ctx.params.get("store", ctx.params.get("home")))
    run, slash, _ = incomplete.partition("/")
    place = folder / run if slash else folder
    try:
        entries = sorted((e.name for e in os.scandir(place) if e.is_dir()), reverse=not slash)
    except OSError:
        return []
    known = [f"{run}/{name}" for name in entries] if slash else ["last", *entries[:NEWEST]]
    return [name for name in known if name.startswith(incomplete)]


@_words
def suites(_: click.Context, incomplete: str) -> Iterable[str]:
    from assay.workloads.suites import SUITES

    return [name for name in SUITES if name.startswith(incomplete)]


@_words
def studies(_: click.Context, incomplete: str) -> Iterable[str]:
    from assay.workloads.studies import STUDIES

    return [name for name in STUDIES if name.startswith(incomplete)]


@_words
def file_formats(_: click.Context, incomplete: str) -> Iterable[str]:
    from assay.core.registry import names

    return [name for name in names("formats") if name.startswith(incomplete)]


def values(option: str) -> Completer:
    """Values of an option of any backend; several separated by commas."""

    @_words
    def complete(_: click.Context, incomplete: str) -> Iterable[str]:
        from assay.core.registry import backend, names

        before, comma, prefix = incomplete.rpartition(",")
        known = dict.fromkeys(
            str(choice)
            for name in names("backends")
            if option in backend(name).options
            for choice in backend(name).options[option].choices
        )
        return [f"{before}{comma}{match}" for match in known if match and match.startswith(prefix)]

    return complete


def _kind(word: str) -> str:
    """Kind of a completion for click: the shell itself completes files."""
    return "file" if word.startswith((".", "/", "~")) else "plain"


def _supporting_backends(workload: str) -> Iterable[str]:
    from assay.core.case_text import parse_case
    from assay.core.registry import backends_for
    from assay.core.registry import workload as get

    return backends_for(get(parse_case(workload).workload))


def _split_at(ctx: click.Context, incomplete: str) -> tuple[str, bool, str]:
    """Workload, whether an @ follows, and the prefix of the backend."""
    if _bash_broke(ctx, incomplete):
        *_, workload = [word for word in _typed_arguments(ctx) if word != "@"] or [""]
        return workload, True, incomplete.removeprefix("@")
    workload, at, prefix = incomplete.rpartition("@")
    return workload, bool(at), prefix


def _bash_broke(ctx: click.Context, incomplete: str) -> bool:
    """bash takes @ for the end of a word: `w@ja` comes as `w`, `@` and `ja`."""
    return incomplete == "@" or (not incomplete.count("@") and _typed_arguments(ctx)[-1:] == ["@"])


def _typed_arguments(ctx: click.Context) -> list[str]:
    """Arguments before the one that is completed."""
    words: list[str] = []
    for value in ctx.params.values():
        if isinstance(value, tuple):
            words += [word for word in value if isinstance(word, str)]
    return words
