"""Write docs/reference from the code, so that it cannot go stale: `make docs`."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import click

from assay.cli import main as cli
from assay.core import registry

DOCS = Path(__file__).parent
ROOT = DOCS.parent
LEFT_OUT = (
    "core/",
    "monitors/",
    "measure/machine/",
    "stats/",
)  # their order depends on the machine
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
    parts = [f"{HEAD}# Commands\n\n```\n{cli.assay.get_help(context).rstrip()}\n```\n"]
    for verb in cli.COMMANDS:
        command = cli.assay.get_command(context, verb)
        assert command is not None
        parts += [f"## assay {verb}\n\n```\n{_help(command, verb, context)}\n```\n"]
        if isinstance(command, click.Group):
            inner = click.Context(command, info_name=verb, parent=context)
            for name in command.list_commands(inner):
                part = command.get_command(inner, name)
                assert part is not None
                parts += [f"### assay {verb} {name}\n\n```\n{_help(part, name, inner)}\n```\n"]
    return "\n".join(parts)


def _help(command: click.Command, name: str, parent: click.Context) -> str:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=96)
    return command.get_help(context).rstrip()


def _workloads() -> str:
    found, _ = registry.all_plugins("workloads")
    parts = [HEAD + "# Workloads\n"]
    for name, workload in found.items():
        choices = getattr(workload, "choices", {})
        rows = "\n".join(
            f"| `{key}` | `{value}` | {', '.join(f'`{each}`' for each in choices.get(key, ()))} |"
            for key, value in workload.params.items()
        )
        parts.append(
            f"## {name}\n\n{workload.summary}. From: {workload.source}. "
            f"Version {workload.version}; made for {', '.join(workload.kinds)}.\n\n"
            f"| parameter | default | one of |\n|---|---|---|\n{rows}\n"
        )
    return "\n".join(parts)


def _backends() -> str:
    found, _ = registry.all_plugins("backends")
    parts = [HEAD + "# Backends\n"]
    for name, backend in found.items():
        rows = "\n".join(
            f"| `{key}` | `{option.default}` | "
            f"{', '.join(f'`{choice}`' for choice in option.choices) or f'`{option.pattern}`'} | "
            f"{option.help} |"
            for key, option in backend.options.items()
        )
        parts.append(
            f"## {name}\n\n{backend.summary}. Opens: {', '.join(sorted(backend.accepts))}.\n\n"
            f"| option | default | values | meaning |\n|---|---|---|---|\n{rows}\n"
        )
    return "\n".join(parts)


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
