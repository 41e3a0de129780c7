"""What every command takes, as plain data: `python -m tests.frozen.help` writes data/help.json.

Of each parameter, `face` is what a user can see or feel, and is compared; `inside` (names of Python
parameters, callbacks) is written down for whoever declares options elsewhere, and is not compared.
A default of "", (), None, False or none at all is one thing: a user cannot tell them apart. What is
False or nothing is left out of the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tests.frozen import inside

FILE = Path(__file__).parent / "data" / "help.json"
Face = dict[str, Any]


def main() -> None:
    FILE.write_text(json.dumps(record(), indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def recorded() -> dict[str, Face]:
    """What f7cfc39 took, by the words of the command."""
    commands: dict[str, Face] = json.loads(FILE.read_text())
    return commands


def record() -> dict[str, Face]:
    """What this tree takes, in the same form."""
    top = inside.main_command()
    context = click.Context(top, info_name="assay", **top.context_settings)
    commands = {
        words: _command_face(command, own) for words, command, own in _commands(top, context)
    }
    plain: dict[str, Face] = json.loads(json.dumps(_without_nothing(commands)))  # no tuples
    return plain


def _without_nothing(value: Any) -> Any:
    """Without what is False, None, "" or empty: the file would be five times as long."""
    if isinstance(value, list | tuple):
        return [_without_nothing(part) for part in value]
    if not isinstance(value, dict):
        return value
    kept = {name: _without_nothing(part) for name, part in value.items()}
    return {
        name: part
        for name, part in kept.items()
        if not (part is None or part is False or part in ("", [], {}))
    }


def _commands(
    command: click.Command, context: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """The command and all below it, with the words that call each."""
    yield context.command_path, command, context
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(context):
        part = command.get_command(context, name)
        assert part is not None
        inner = click.Context(part, info_name=name, parent=context, **part.context_settings)
        yield from _commands(part, inner)


def _command_face(command: click.Command, context: click.Context) -> Face:
    command._help_option = None  # click keeps the one of whoever used the command before, alone
    parameters = command.get_params(context)
    options = [part for part in parameters if isinstance(part, click.Option)]
    arguments = [part for part in parameters if isinstance(part, click.Argument)]
    return {
        "face": {
            "hidden": command.hidden,
            "deprecated": command.deprecated,
            "no_args_is_help": command.no_args_is_help,
            "help_options": sorted(context.help_option_names),
            "allow_extra_args": context.allow_extra_args,
            "allow_interspersed_args": context.allow_interspersed_args,
            "ignore_unknown_options": context.ignore_unknown_options,
            **_group_face(command, context),
        },
        "options": {_name(option): _option(option, context) for option in options},
        "arguments": [_parameter(argument, context) for argument in arguments],
    }


def _group_face(command: click.Command, context: click.Context) -> Face:
    if not isinstance(command, click.Group):
        return {}
    return {
        "commands": sorted(command.list_commands(context)),
        "chain": command.chain,
        "invoke_without_command": command.invoke_without_command,
    }


def _name(option: click.Option) -> str:
    """Its flags, the same in whatever order they were declared."""
    return " ".join(
        sorted((*option.opts, *option.secondary_opts), key=lambda flag: flag.strip("-"))
    )


def _option(option: click.Option, context: click.Context) -> Face:
    face = _parameter(option, context)
    face["face"] |= {
        "flags": sorted(option.opts),
        "off_flags": sorted(option.secondary_opts),
        "is_flag": option.is_flag,
        "flag_value": _plain(option.flag_value),
        "count": option.count,
        "hidden": option.hidden,
        "show_default": bool(option.show_default),
        "shown_default": _extra(option, context, "default"),
        "shown_range": _extra(option, context, "range"),
        "show_envvar": option.show_envvar,
        "prompt": option.prompt,
        "confirmation_prompt": bool(option.confirmation_prompt),
        "hide_input": option.hide_input,
    }
    return face


def _extra(option: click.Option, context: click.Context, name: str) -> str:
    """What stands in brackets behind the help text."""
    return str(option.get_help_extra(context).get(name, ""))


def _parameter(parameter: click.Parameter, context: click.Context) -> Face:
    own = parameter._custom_shell_complete
    return {
        "face": {
            "type": _type(parameter.type),
            "default": _plain(parameter.get_default(context, call=False)),
            "metavar": parameter.make_metavar(context),
            "required": parameter.required,
            "nargs": parameter.nargs,
            "multiple": parameter.multiple,
            "envvar": parameter.envvar or None,
            "eager": parameter.is_eager,
            "deprecated": parameter.deprecated,
            "completion": own is not None,
        },
        "inside": {
            "name": parameter.name,
            "expose_value": parameter.expose_value,
            "callback": parameter.callback is not None,
            "completion": getattr(own, "__name__", "") if own else "",
        },
    }


def _type(kind: click.ParamType) -> Face:
    """Its name, and what restricts the values: choices, range, kind of file."""
    names = ("case_sensitive", "min", "max", "min_open", "max_open", "clamp")
    names += ("exists", "file_okay", "dir_okay", "writable", "readable", "allow_dash")
    limits = {name: getattr(kind, name) for name in names if hasattr(kind, name)}
    choices = getattr(kind, "choices", None)
    return {"name": kind.name, **limits, **({"choices": list(choices)} if choices else {})}


def _plain(value: object) -> object:
    if value is None or value == "" or value == () or "UNSET" in repr(value):
        return None
    return "computed" if callable(value) else value


if __name__ == "__main__":
    main()
