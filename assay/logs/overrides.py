"""Change arguments of a command: placeholders, and the options that the old driver overrode."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.core.errors import UsageError
from assay.core.records import Value

Command = str | tuple[str, ...]

# Options of common commands for each override.
OPTIONS = {
    "num_gpus": ("--gpus", "--num-gpus", "--num_gpus"),
    "epochs": ("--epochs", "--num-epochs", "--num_epochs"),
    "kvstore": ("--kvstore", "--kv-store"),
    "dtype": ("--dtype",),
}
_WORD = re.compile(r"""(?:[^\s"'\\;&|<>()]|\\.|"(?:\\.|[^"\\])*"|'[^']*')+|[;&|<>()]+""", re.DOTALL)
_SHELL = re.compile(r"[;&|<>()$`*?~#\n]|\[")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class OverrideResult:
    """The changed command, and overrides without a matching option."""

    command: Command
    unused: tuple[str, ...]


def override(command: Command, values: Mapping[str, Value]) -> OverrideResult:
    """Replace the arguments of options.

    num_gpus 0 removes the option. A list of devices (`--gpus 1,0,2,3`) keeps its first num_gpus
    entries.
    """
    unused = []
    for name, value in values.items():
        changed = _override_one(command, name, value)
        if changed is None:
            unused.append(name)
        else:
            command = changed
    return OverrideResult(command, tuple(unused))


def fill(command: Command, values: Mapping[str, Value]) -> Command:
    """Fill placeholders such as `{num_gpus}`; braces around other names stay."""

    def replacement(match: re.Match[str]) -> str:
        return str(values[match[1]]) if match[1] in values else match[0]

    if isinstance(command, str):
        quoted = {name: shlex.quote(str(value)) for name, value in values.items()}
        return _PLACEHOLDER.sub(lambda match: quoted.get(match[1], match[0]), command)
    return tuple(_PLACEHOLDER.sub(replacement, word) for word in command)


def arguments(command: Command) -> tuple[str, ...]:
    """Split a command that needs no shell."""
    if not isinstance(command, str):
        return command
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(
            f"The command '{command}' cannot be split into arguments ({error}).",
            hint="Close the quotes, or give the command as a list.",
        ) from None


def needs_shell(command: str) -> bool:
    """Whether a command has shell syntax outside of quotes."""
    bare = re.sub(r"""\\.|'[^']*'""", "", command)
    if re.search(r'"[^"]*[$`]', bare):
        return True
    bare = re.sub(r'"[^"]*"', "", bare)
    return bool(_SHELL.search(bare) or re.match(r"\s*(?:\w+=|cd\s|source\s|\.\s|export\s)", bare))


def _override_one(command: Command, name: str, value: Value) -> Command | None:
    """The command with one override, or None without such an option."""

    def replacement(old: str) -> str:
        return _gpus(old, int(value)) if name == "num_gpus" else str(value)

    if isinstance(command, str):
        return _override_text(command, OPTIONS[name], replacement)
    return _override_words(command, OPTIONS[name], replacement)


def _override_words(
    words: tuple[str, ...], options: tuple[str, ...], replacement: Callable[[str], str]
) -> tuple[str, ...] | None:
    for index, word in enumerate(words):
        option, equals, joined = word.partition("=")
        if option not in options:
            continue
        end = index + (1 if equals else 2)
        if not equals and end > len(words):
            return None
        new = replacement(joined if equals else words[index + 1])
        argument = (f"{option}={new}",) if equals else (option, new)
        return words[:index] + (argument if new else ()) + words[end:]
    return None


def _override_text(
    text: str, options: tuple[str, ...], replacement: Callable[[str], str]
) -> str | None:
    """Override an option in a text, preserving quotes and shell syntax."""
    words = list(_WORD.finditer(text))
    for index, word in enumerate(words):
        option, equals, _ = word[0].partition("=")
        if option not in options or (not equals and index + 1 == len(words)):
            continue
        last = word if equals else words[index + 1]
        start = word.start() + len(option) + 1 if equals else last.start()
        new = replacement("".join(shlex.split(text[start : last.end()])))
        if not new:
            return text[: word.start()].rstrip(" ") + text[last.end() :]
        return text[:start] + shlex.quote(new) + text[last.end() :]
    return None


def _gpus(old: str, count: int) -> str:
    """A number of devices, or a list of them; "" for none."""
    if "," not in old:
        return str(count) if count else ""
    devices = old.split(",")
    if count > len(devices):
        raise UsageError(
            f"The command names the devices {old}, fewer than the requested {count}.",
            hint="Name more devices in the command, or ask for fewer.",
        )
    return ",".join(devices[:count])
