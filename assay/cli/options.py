"""Options that several verbs share, and how their texts are read."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from assay.errors import UsageError

home = click.option(
    "--home", metavar="FOLDER", help="Where results are kept (ASSAY_HOME, ~/.assay)."
)
form = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "csv", "json"]),
    default="text",
    show_default=True,
)
tag = click.option("--tag", "tags", multiple=True, metavar="NAME=VALUE", help="May be repeated.")

_PIECES = re.compile(r"'([^']*)'|([^,]+)")


def pairs(texts: Sequence[str], flag: str) -> dict[str, str]:
    """`NAME=VALUE` texts of one flag."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(f"{flag} got '{text}', but takes NAME=VALUE.", hint=f"{flag} a=1")
        if re.search(r",\w+=", value) and "'" not in value:
            raise UsageError(
                f"{flag} got '{text}', but takes one NAME at a time.",
                hint=f"Repeat it: {flag} a=1 {flag} b=2; commas separate the values of a sweep.",
            )
        found[name] = value
    return found


def values(text: str) -> list[str]:
    """`a,b,'c,d'` → three values."""
    return [quoted or bare for quoted, bare in _PIECES.findall(text)] or [""]


def say(*lines: str) -> None:
    """To standard error: what is not a result."""
    for line in lines:
        click.echo(line, err=True)


def decorated(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several click options as one decorator, in the order given."""

    def apply(command: Any) -> Any:  # noqa: ANN401 (whatever click makes of it)
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return apply


def to_terminal() -> bool:
    return sys.stderr.isatty()
