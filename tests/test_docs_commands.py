"""Every command of assay that a page shows exists, and takes the options that the page gives it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from assay.cli import main as cli
from assay.core.errors import AssayError

ROOT = Path(__file__).parent.parent
WRITTEN = [
    path
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
    if path.parent.name != "reference"  # written from the commands themselves
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
INDENTED = re.compile(r"(?<=\n\n)((?: {4}\S.*\n)+)")
SHELL = {"", "bash", "console", "sh"}
SPAN = re.compile(r"`([^`]*)`")


def commands(text: str) -> Iterator[str]:
    """Commands in blocks and in the running text; `⇥` is a key that is pressed."""
    fenced = [block for language, block in FENCE.findall(text) if language in SHELL]
    text = FENCE.sub("", text)
    for block in [*fenced, *INDENTED.findall(text)]:
        lines = block.replace("\\\n", " ").splitlines()
        shown = (line.strip().removeprefix("$ ") for line in lines)
        yield from (line for line in shown if line.startswith("assay ") and "⇥" not in line)
    spans = (" ".join(span.split()) for span in SPAN.findall(text))
    yield from (span for span in spans if span.startswith("assay "))


def words(line: str) -> Iterator[list[str]]:
    """The words of each command of assay in a line of a shell, without `assay`."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    command: list[str] = []
    for word in [*lexer, ";"]:
        if not set(word) <= set("();<>|&"):
            command.append(word)
            continue
        if command and command[0] == "assay":
            yield command[1:]
        command = []


def check(arguments: list[str]) -> None:
    """Parse the options as the command would, without converting or opening anything."""
    command: click.Command = cli.assay
    context = click.Context(command, info_name="assay", **command.context_settings)
    context.meta["all commands"] = True
    rest = arguments
    while True:
        values, rest, _ = command.make_parser(context).parse_args(args=[*rest])
        check_choices(command, values)
        if not isinstance(command, click.Group) or not rest or rest[0] == "…":
            return
        if rest[0] == "help":
            return
        name, inner, rest = command.resolve_command(context, [*rest])
        assert inner is not None
        command = inner
        context = click.Context(command, info_name=name, parent=context, **inner.context_settings)


def check_choices(command: click.Command, values: dict[str, object]) -> None:
    for parameter in command.params:
        value = values.get(parameter.name or "")
        if isinstance(parameter.type, click.Choice) and isinstance(value, str):
            assert value in {*parameter.type.choices, "…"}, f"{parameter.name} {value}"


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_in_a_page_is_one_that_assay_takes(page):
    wrong = []
    for line in commands(page.read_text()):
        for arguments in words(line):
            try:
                check(arguments)
            except (click.UsageError, AssayError, AssertionError) as error:
                wrong.append((line, str(error)))

    assert wrong == []


def test_the_pages_together_show_many_commands():
    """An extraction that finds nothing would pass for ever."""
    texts = [line for page in WRITTEN for line in commands(page.read_text())]

    assert len([line for line in texts if line.startswith("assay ")]) > 300


@pytest.mark.parametrize(
    "line", ["assay rnu x", "assay run x --bugdet 3s", "assay run x --format yaml | less"]
)
def test_a_wrong_command_is_reported(line):
    (arguments,) = words(line)

    with pytest.raises((click.UsageError, AssayError, AssertionError)):
        check(arguments)
