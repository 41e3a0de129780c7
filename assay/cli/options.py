"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from assay.core.errors import UsageError
from assay.reporting.output import FORMATS
from assay.reporting.terminal import plain

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from assay.cli.complete import Completer


def completer(name: str) -> Completer | None:
    """A function of cli/complete.py by its name, or `values:precision` of what makes one."""
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


def _place(ctx: click.Context, flag: click.Parameter, value: str | None) -> str | None:
    """What a command was given, or what stands before the command: `assay --store URL VERB`."""
    before: str | None = ctx.find_root().params.get("store")
    if value and before:
        raise UsageError(
            "Two stores were given: one before the command and another after it.",
            hint="Give one; $ASSAY_HOME is the folder that data and logs of this machine go to.",
        )
    return value or before


home = click.option(
    "--home",
    "--store",
    "home",
    metavar="FOLDER|URL",
    callback=_place,
    help="Where results are kept: a folder, or postgresql://USER@HOST/DATABASE; default: "
    "$ASSAY_STORE, $ASSAY_HOME or ~/.assay.",
)
form = click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Format of the output.",
)
tag = click.option(
    "--tag", "tags", multiple=True, metavar="NAME=VALUE", help="Tag to find results by; repeatable."
)

backends = click.option(
    "-b",
    "--backend",
    "backends",
    multiple=True,
    shell_complete=completer("backends"),
    help="Backend to use. Repeat it or separate by commas; default: all installed.",
)
params = click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="NAME=A,B",
    help="Parameter of the workload; several values make a sweep.",
)
backend_options = click.option(
    "--option",
    "extra",
    multiple=True,
    metavar="NAME=A,B",
    help="Option of the backend; several values make a sweep.",
)
columns = click.option(
    "--columns",
    default="",
    metavar="A,B",
    help="Columns of the table, such as memory,p50,p99,energy; a wrong one lists them all.",
)
label = click.option("--label", default="", help="Name to find the results by.")
cold = click.option(
    "--cold", is_flag=True, help="Share nothing compiled between the processes of a case."
)
communication = click.option(
    "--communication",
    is_flag=True,
    help="Then profile 5 steps, for the share of communication between several devices.",
)
trust = click.option(
    "--trust", is_flag=True, help="Load a .pt2 file although loading it can run code in it."
)
strict = click.option("--strict", is_flag=True, help="Fail if backends do not do the same work.")

_TRUTHS = {"true": True, "1": True, "false": False, "0": False}
_PIECES = re.compile(r"'([^']*)'|([^,]+)")


def boolean(*names: str, help: str = "") -> Callable[[Any], Any]:
    """A boolean flag of an older tool: `--flag`, or `--flag=True`, `--flag=0` and so on."""
    return click.option(
        *names,
        is_flag=False,
        flag_value="true",
        default="false",
        callback=_truth,
        metavar="[True|False]",
        help=help,
    )


def _truth(ctx: click.Context, flag: click.Parameter, value: str) -> bool:
    return to_bool(value, flag.opts[0])


def to_bool(value: str, name: str) -> bool:
    """What scripts write for yes and no; an older tool took any text for yes."""
    text = value.strip().lower()
    if text not in _TRUTHS:
        raise UsageError(
            f"{name} got '{value}', but takes True or False.", hint=f"{name}, or {name}=False"
        )
    return _TRUTHS[text]


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


def several(texts: Sequence[str]) -> list[str]:
    """The values of a flag that may be repeated, and hold several by commas."""
    return [value for text in texts for value in values(text)]


def axes(pairs: Mapping[str, str]) -> dict[str, list[str]]:
    """Names with the values of a sweep each."""
    return {name: values(text) for name, text in pairs.items()}


def cluster(function: Callable[..., Any]) -> Callable[..., Any]:
    """Where else: a Ray cluster, and what its nodes have to have."""
    on = click.option(
        "--on",
        default="",
        metavar="ADDRESS",
        help="Measure on a Ray cluster: ray://HOST:10001, HOST:6379, or ray for the one here.",
    )
    need = click.option(
        "--need",
        "need",
        default="",
        metavar="k=v,…",
        help="With --on: what a node has to have: cpus=N, gpus=N, accelerator=TYPE.",
    )
    return on(need(function))


def needs(given: Mapping[str, Any]) -> dict[str, str]:
    return pairs(values(given["need"]), "--need") if given["need"] else {}


def timeout(default: str, limit: str) -> Callable[[Any], Any]:
    return click.option("--timeout", default=default, show_default=True, help=f"Limit for {limit}.")


def resume(line: str) -> Callable[[Any], Any]:
    return click.option("--resume", metavar="RUN", shell_complete=completer("runs"), help=line)


def print_message(*lines: str) -> None:
    """To standard error: what is not a result."""
    for line in lines:
        click.echo(plain(line), err=True)


def compose(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several click options as one decorator, in the order given."""

    def apply(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return apply


def is_terminal() -> bool:
    return sys.stderr.isatty()
