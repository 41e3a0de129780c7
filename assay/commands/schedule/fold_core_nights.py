"""A plan file carried out: one record of what came of it, and a shorter one that is kept."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.core.changes import Checked
from assay.core.records import SCHEMA
from assay.platforms.sinks.records import Upload


class NightLine(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a night: that it began, or that it ended with these findings."""

    started: str  # UTC, ISO 8601: which night it is
    ended: str = ""  # "": it never did
    status: int = 0  # of the command line
    runs: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """A plan file, carried out once."""

    plan: str  # its name
    started: str
    ended: str
    runs: tuple[str, ...] = ()
    results: dict[str, str] = {}  # id → how it ended
    findings: tuple[str, ...] = ()  # what went wrong, each in a sentence
    checked: Checked | None = None
    uploads: tuple[Upload, ...] = ()
    alerts: tuple[str, ...] = ()  # how each alert fared, in words
    status: int = 0
    schema: int = SCHEMA
    kind: Literal["night"] = "night"
