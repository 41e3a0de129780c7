"""Write docs/reference from the code, so that it cannot go stale: `make docs`."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from types import ModuleType

import click

from assay.cli import main as cli
from assay.core import registry
from assay.core.contracts import Backend

DOCS = Path(__file__).parent
ROOT = DOCS.parent
LEFT_OUT = (
    "core/",
    "monitors/",
    "measure/machine/",
    "stats/",
)  # their order depends on the machine
Option = tuple[str, str]  # names and help
HELP: Option = ("-h, --help", "Show this message and exit.")
HEAD = "<!-- written by docs/generate.py: run `make docs` -->\n\n"


def main() -> None:
    for name, text in pages().items():
        (DOCS / name).write_text(text)


def pages() -> dict[str, str]:
    """Path below docs → text of every generated page."""
    return {name: page() for name, page in PAGES.items()}


def _commands() -> str:
    context = click.Context(cli.assay, info_name="assay", **cli.assay.context_settings)
    context.meta["all commands"] = True
    commands = [
        part
        for verb in cli.COMMANDS
        for part in _with_subcommands(cli.assay.get_command(context, verb), context, verb)
    ]
    uses = Counter(option for part in commands for option in _options(*part))
    shared = _shared(uses)
    formatter = click.HelpFormatter(width=96)
    formatter.write_dl(sorted(shared))
    parts = [
        f"{HEAD}# Commands\n\n```\n{cli.assay.get_help(context).rstrip()}\n```\n",
        "`assay help COMMAND` also shows examples.\n\n"
        "## Options of several commands\n\n`also:` below a command names those that it has.\n\n"
        f"```\n{formatter.getvalue().rstrip()}\n```\n",
    ]
    for command, inner in commands:
        path = inner.command_path
        parts.append(f"{'#' * len(path.split())} {path}\n\n{_help(command, inner, shared)}\n")
    return "\n".join(parts)


def _shared(uses: Counter[Option]) -> set[Option]:
    """Options of several commands; where one name has several meanings, the most frequent."""
    most: dict[str, Option] = {}
    for option, count in uses.most_common():
        if count > 1:
            most.setdefault(option[0].split(",")[-1].split()[0], option)
    return set(most.values())


def _with_subcommands(
    command: click.Command | None, parent: click.Context, name: str
) -> Iterator[tuple[click.Command, click.Context]]:
    assert command is not None
    inner = click.Context(command, info_name=name, parent=parent, terminal_width=96)
    yield command, inner
    if isinstance(command, click.Group):
        for part in command.list_commands(inner):
            yield from _with_subcommands(command.get_command(inner, part), inner, part)


def _options(command: click.Command, context: click.Context) -> list[Option]:
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    return [record for record in records if record and record[0].startswith("-")]


def _help(command: click.Command, context: click.Context, shared: Set[Option]) -> str:
    """Help without examples and the options of several commands; a group's commands follow."""
    formatter = click.HelpFormatter(width=96)
    usage = " ".join(command.collect_usage_pieces(context))
    formatter.write(f"{context.command_path} {usage}\n")
    command.format_help_text(context, formatter)
    options = _options(command, context)
    if own := [option for option in options if option not in shared]:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_dl(own)
    also = [option[0] for option in options if option in shared and option != HELP]
    names = ", ".join(name.split(" ")[0].rstrip(",") for name in also)
    note = f"\n\n  also: {names}" if also else ""
    return f"```\n{formatter.getvalue().rstrip()}{note}\n```"


def _workloads() -> str:
    workloads, _ = registry.all_plugins("workloads")
    parts = [
        f"{HEAD}# Parameters of workloads\n\nEvery workload also has `batch_size` and `seed` "
        "(default 0). What each is: [workloads](../workloads.md).\n"
    ]
    for name, workload in workloads.items():
        choices = getattr(workload, "choices", {})
        values = ", ".join(
            f"`{key}={value}`"
            + (f" ({'|'.join(map(str, choices[key]))})" if key in choices else "")
            for key, value in workload.params.items()
            if key != "seed"
        )
        summary = workload.summary[0].upper() + workload.summary[1:]
        parts.append(
            f"## {name}\n\n{summary}. From: {workload.source}. Version {workload.version}; "
            f"{', '.join(workload.kinds)}.\n\n{values}\n"
        )
    return "\n".join(parts)


def _backends() -> str:
    backends, _ = registry.all_plugins("backends")
    uses = Counter(row for backend in backends.values() for row in _rows(backend).values())
    shared = {row for row, count in uses.items() if count >= 5}
    parts = [
        f"{HEAD}# Options of backends\n\nA value is the default unless `NAME=VALUE` chooses "
        "another. What each means: [backends](../backends.md).\n",
        f"## Options of several backends\n\n{''.join(sorted(shared))}",
    ]
    for name, backend in backends.items():
        rows = _rows(backend)
        own = "".join(row for row in rows.values() if row not in shared)
        also = ", ".join(f"`{key}`" for key, row in rows.items() if row in shared)
        parts.append(
            f"## {name}\n\n{backend.summary}. Opens: {', '.join(sorted(backend.accepts))}. "
            f"Options: {also}{', and:' if own else '.'}\n" + (f"\n{own}" if own else "")
        )
    return "\n".join(parts)


def _rows(backend: Backend) -> dict[str, str]:
    """Option → its line in the page."""
    return {
        key: f"- `{key}={option.default}`"
        f" ({'|'.join(map(str, option.choices)) or option.pattern or 'any'}): {option.help}\n"
        for key, option in backend.options.items()
    }


def _walkthrough() -> str:
    trace_run = _load(ROOT / "benchmarks" / "trace_run.py")
    run = trace_run.traced_run()
    pair = trace_run.traced_run(trace_run.AB)
    new = {file: name for file, name in pair.entries.items() if file not in run.entries}
    left_out = ", ".join(f"`{part}`" for part in LEFT_OUT)
    waiting = dict.fromkeys(reversed(max(run.waits, key=len)))
    return (
        f"{HEAD}# One run, file by file\n\n"
        f"`assay {' '.join(trace_run.RUN)}` of a function of plain Python, traced: the files of\n"
        "each process in the order in which the run enters them, the function by which it does,\n"
        f"and what the file says of itself. Not listed: {left_out}\nand private files.\n\n"
        f"## The parent\n\n{_files(run.entries)}\n"
        "While the parent waits for the worker, these files are on its stack: "
        f"{', '.join(f'`{file}`' for file in waiting)}.\n\n"
        f"## The worker\n\n{_files(run.worker)}\n"
        f"## What `assay ab` adds\n\n`assay {' '.join(trace_run.AB)}` also enters:\n\n"
        f"{_files(new)}"
    )


def _files(entries: Mapping[str, str]) -> str:
    rows = "".join(
        f"| `{file}` | `{name}` | {_first_sentence(ROOT / 'assay' / file)} |\n"
        for file, name in entries.items()
        if not file.startswith(LEFT_OUT) and not re.match("_(?!_)", Path(file).name)
    )
    return f"| file | entered by | what it is |\n|---|---|---|\n{rows}"


def _first_sentence(file: Path) -> str:
    text = ast.get_docstring(ast.parse(file.read_text())) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


PAGES = {
    "reference/commands.md": _commands,
    "reference/workloads.md": _workloads,
    "reference/backends.md": _backends,
    "design/walkthrough.md": _walkthrough,
}

if __name__ == "__main__":
    main()
