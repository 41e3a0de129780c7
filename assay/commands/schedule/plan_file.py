"""Read a plan file (TOML): cases, procedure, checks, alerts and uploads."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import UsageError, nearest_name
from assay.core.files import user_path
from assay.core.records import Procedure, Value
from assay.platforms.sinks.records import Sinks

NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)  # of files, units, and rows of a table
_UNKNOWN = re.compile(r"unknown field `(\w+)`")
_VARIABLE = "env:"  # before the name of a variable: a webhook's address is a secret


class RunPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[run]`: cases to measure, as `assay run` takes them."""

    cases: tuple[str, ...] = ()
    suite: str = ""
    backends: tuple[str, ...] = ()
    params: dict[str, Value | tuple[Value, ...]] = {}
    options: dict[str, Value | tuple[Value, ...]] = {}
    first: int = 0
    trust: bool = False


class BenchPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[bench]`: benchmark methods, and the repositories and data they need, as PerfZero."""

    methods: tuple[str, ...]
    repositories: tuple[str, ...] = ()  # url;branch;hash
    downloads: tuple[str, ...] = ()  # url;path;sha256=…
    python_path: tuple[str, ...] = ()  # below the checkouts, or absolute
    python: str = ""
    trials: int = 1
    timeout: str = "1h"
    data_dir: str = "/data"
    constructor_args: dict[str, Any] = {}
    plain: bool = False


class CheckPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[check]`: what counts as worse, as `assay check` takes it."""

    since: str = ""
    fail_on: tuple[str, ...] = ()
    level: float | str = "1%"
    confirm: bool = False
    most: int = 10
    budget: float | str = "5m"


class AlertsPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[alerts]`: places as `assay check --alert` takes them, or `env:NAME` of a variable."""

    to: tuple[str, ...] = ()


class PlanFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of a plan file, checked as far as that needs nothing but the file."""

    name: str = ""  # of the file, where it is not given
    label: str = ""
    tags: dict[str, str] = {}
    run: RunPart | None = None
    procedure: dict[str, Value] = {}
    bench: BenchPart | None = None
    check: CheckPart | None = None
    alerts: AlertsPart = AlertsPart()
    sinks: Sinks | None = None  # [sinks]: as `assay upload` takes them

    def __post_init__(self) -> None:
        if self.run is None and self.bench is None:
            raise UsageError(
                "The plan file has neither [run] nor [bench], so there is nothing to measure.",
                hint='As in: [run] and below it cases = ["mnist-mlp"]',
            )
        for name in self.procedure:
            if name not in Procedure.__struct_fields__:
                raise _unknown(name, Procedure.__struct_fields__, "[procedure]")


_PARTS: dict[str, type[msgspec.Struct]] = {
    "run": RunPart,
    "bench": BenchPart,
    "check": CheckPart,
    "alerts": AlertsPart,
    "sinks": Sinks,
}


def read(path: str | Path) -> PlanFile:
    """A plan file; its name is its own, or the file's."""
    file = user_path(path)
    try:
        plan = msgspec.convert(tomllib.loads(file.read_text()), PlanFile)
    except OSError as error:
        raise UsageError(
            f"The plan file {file} cannot be read ({error.strerror}).",
            hint="Name a TOML file with [run] or [bench] in it.",
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is no TOML: {error}.", hint="See docs/nights.md.") from None
    except msgspec.ValidationError as error:
        raise _invalid(file, str(error)) from None
    named = msgspec.structs.replace(plan, name=plan.name or file.stem)
    if not NAME.fullmatch(named.name):
        raise UsageError(
            f"The plan's name is '{named.name[:60]}', but is made of letters, digits, - _ and .",
            hint='Put name = "nightly" at the top of the file.',
        )
    return named


def alert_places(plan: PlanFile) -> tuple[str, ...]:
    """With the values of variables in place of their names."""
    return tuple(_place(text) for text in plan.alerts.to)


def _place(text: str) -> str:
    if not text.startswith(_VARIABLE):
        return text
    name = text.removeprefix(_VARIABLE)
    if not os.environ.get(name):
        raise UsageError(
            f"The plan's alerts go to the variable {name}, which is not set.",
            hint=f"Set it, as in: export {name}=https://hooks.example.org/…",
        )
    return os.environ[name]


def _invalid(path: Path, message: str) -> UsageError:
    """msgspec's message; for an unknown field with a suggestion."""
    what, _, where = message.partition(" - at `$")
    part = where.strip("`.").partition("[")[0]
    unknown = _UNKNOWN.search(what)
    if unknown:
        fields = _PARTS.get(part, PlanFile).__struct_fields__
        return _unknown(unknown[1], fields, f"[{part}]" if part else str(path))
    return UsageError(
        f"{path} is no plan: {part or 'it'}: {what}.", hint="docs/nights.md has a whole one."
    )


def _unknown(name: str, known: tuple[str, ...], where: str) -> UsageError:
    near = nearest_name(name, known)
    hint = f"Did you mean '{near}'?" if near else f"It has: {', '.join(known)}."
    return UsageError(f"{where} of the plan file has no '{name}'.", hint=hint)
