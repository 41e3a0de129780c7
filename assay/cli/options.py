"""Parsers of option values, and messages on standard error."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from assay.core.errors import UsageError
from assay.reporting.colors import color_verdicts, has_color
from assay.reporting.terminal import plain

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from assay.cli.complete import Completer


def completer(name: str) -> Completer | None:
    """A function of cli/complete.py by its name, or by `values:OPTION`."""
    if not name:
        return None

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from assay.cli import complete as completers

        function, _, option = name.partition(":")
        completer = getattr(completers, function)
        items: list[CompletionItem] = (completer(option) if option else completer)(
            ctx, param, incomplete
        )
        return items

    return complete


_TRUTHS = {"true": True, "1": True, "false": False, "0": False}
_PIECES = re.compile(r"'([^']*)'|([^,]+)")


def to_bool(value: str, name: str) -> bool:
    """Boolean from a script's text; an older tool took any text as true."""
    text = value.strip().lower()
    if text not in _TRUTHS:
        raise UsageError(
            f"{name} got '{value}', but takes True or False.", hint=f"{name}, or {name}=False"
        )
    return _TRUTHS[text]


def pairs(texts: Sequence[str], flag: str) -> dict[str, str]:
    """`NAME=VALUE` texts of one flag."""
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(f"{flag} got '{text}', but takes NAME=VALUE.", hint=f"{flag} a=1")
        if re.search(r",\w+=", value) and "'" not in value:
            raise UsageError(
                f"{flag} got '{text}', but takes one NAME at a time.",
                hint=f"Repeat it: {flag} a=1 {flag} b=2; commas separate the values of a sweep.",
            )
        values[name] = value
    return values


def values(text: str) -> list[str]:
    """`a,b,'c,d'` → three values."""
    return [quoted or bare for quoted, bare in _PIECES.findall(text)] or [""]


def several(texts: Sequence[str]) -> list[str]:
    """Values of a flag that may be repeated and may contain several, separated by commas."""
    return [value for text in texts for value in values(text)]


def axes(pairs: Mapping[str, str]) -> dict[str, list[str]]:
    """Names, each with the values of its sweep."""
    return {name: values(text) for name, text in pairs.items()}


def print_message(*lines: str) -> None:
    """Print to standard error, which has everything that is not a result."""
    color = has_color(sys.stderr)
    for line in lines:
        click.echo(plain(line) if not color else color_verdicts(plain(line)), err=True)


def is_terminal() -> bool:
    """Whether standard error is a terminal on which a line can be overwritten."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
