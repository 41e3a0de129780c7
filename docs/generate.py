"""Write docs/reference from the code, so that it cannot go stale: `make docs`."""

from __future__ import annotations

from pathlib import Path

import click

from assay.cli import main as cli
from assay.core import registry

REFERENCE = Path(__file__).parent / "reference"
HEAD = "<!-- written by docs/generate.py: run `make docs` -->\n\n"


def main() -> None:
    for name, text in pages().items():
        (REFERENCE / name).write_text(text)


def pages() -> dict[str, str]:
    """File name → text of every generated page."""
    return {"commands.md": _commands(), "workloads.md": _workloads(), "backends.md": _backends()}


def _commands() -> str:
    context = click.Context(cli.assay, info_name="assay", **cli.assay.context_settings)
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


if __name__ == "__main__":
    main()
