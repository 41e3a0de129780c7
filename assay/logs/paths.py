"""Line of a setting in a task file, which TOML and INI readers do not report."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

from assay.core.errors import UsageError

DEFAULT = "DEFAULT"  # section of options for all sections
_SECTION = re.compile(r"\s*\[([^\]]+)\]\s*(?:[#;].*)?$")
_OPTION = re.compile(r"\s*([^\s#;=:\[][^=:]*?)\s*[=:]")


def locate_error(origin: str, line: int, error: UsageError) -> UsageError:
    """The error prefixed with file and line."""
    location = f"{origin}, line {line}" if line else origin
    return UsageError(f"{location}: {error}", hint=error.hint)


def toml_line(text: str, path: Sequence[str]) -> int:
    """Line of the deepest part of a dotted path in the text; 0: none."""
    best, deepest, table = 0, 0, ()  # type: int, int, tuple[str, ...]
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            table = _names(stripped.strip("[]") + " = 0")
            here = table
        else:
            key, equals, rest = line.partition("=")
            here = (*table, *_names(f"{key} = 0")) if equals else ()
            following = path[len(here)] if len(path) > len(here) else ""
            if here == tuple(path[: len(here)]) and following and _has_key(following, rest):
                here = (*here, following)
        depth = min(len(here), len(path))
        if depth > deepest and here[:depth] == tuple(path[:depth]):
            best, deepest = number, depth
    return best


def _names(setting: str) -> tuple[str, ...]:
    """The dotted key of a setting, unquoted; empty if it is none."""
    try:
        value: Any = tomllib.loads(setting)
    except (ValueError, RecursionError):
        return ()
    names = []
    while isinstance(value, dict):
        ((name, value),) = value.items()
        names.append(name)
    return tuple(names)


def _has_key(name: str, inline: str) -> bool:
    return re.search(rf"[{{,]\s*['\"]?{re.escape(name)}['\"]?\s*[=.]", inline) is not None


def blank_other_sections(text: str, section: str, sections: Sequence[str]) -> str:
    """The text with lines of other sections blanked, to keep line numbers."""
    lines, inside = [], True
    for line in text.split("\n"):
        header = _SECTION.match(line)
        if header and header[1] in (*sections, DEFAULT):
            inside = header[1] in (section, DEFAULT)
        lines.append(line if inside else "")
    return "\n".join(lines)


def ini_line(text: str, section: str, option: str = "", item: str = "") -> int:
    """Line of a section, of an option in it, or of an item in the option's value; 0: none."""
    inside, option_line = False, 0
    for number, line in enumerate(text.split("\n"), 1):
        header = _SECTION.match(line)
        setting = _OPTION.match(line)
        if header and not (option_line and item):
            inside = header[1] == section
            if inside and not option:
                return number
        elif inside and setting and setting[1].strip().lower() == option:
            option_line = number
        if option_line and (not item or item in line):
            return number
    return option_line
