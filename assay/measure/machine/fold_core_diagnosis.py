"""What the doctor found: a machine, its noise, what would help, its peaks."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.core.records import SCHEMA, Value


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """Two identical pieces of work against each other: all that differs is noise."""

    spread: float  # coefficient of variation of single samples
    difference: float  # what was seen between the two, as a share; in truth it is nothing
    visible: float  # the smallest change that would be seen four times in five
    visible_unpaired: float  # the same, had the two not been interleaved in pairs
    pairs: int


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """Something that may help, and what it did here, a moment ago."""

    name: str
    how: str
    before: float  # minimum detectable effect without it
    after: float  # and with it

    @property
    def helps(self) -> bool:
        return self.after < 0.9 * self.before  # less is within the noise of the noise


class Framework(msgspec.Struct, frozen=True, kw_only=True):
    """A framework as it sees this machine."""

    name: str
    version: str = ""
    devices: tuple[str, ...] = ()
    problem: str = ""


class Peak(msgspec.Struct, frozen=True, kw_only=True):
    """The highest rate seen on one device."""

    device: str  # cpu, gpu0, …
    what: str  # a precision of the matrix product, or copy
    rate: float
    unit: Literal["FLOP/s", "B/s"]
    published: float | None = None  # by the maker; None: not known

    @property
    def exceeds(self) -> bool:
        return self.published is not None and self.rate > self.published


class Checkup(msgspec.Struct, frozen=True, kw_only=True):
    """A whole visit to the doctor."""

    when: str  # UTC, ISO 8601
    machine: dict[str, Value] = {}
    frameworks: tuple[Framework, ...] = ()
    backends: dict[str, str] = {}  # name → why it cannot be used, or ""
    monitors: dict[str, str] = {}
    noise: Noise | None = None
    remedies: tuple[Remedy, ...] = ()
    peaks: tuple[Peak, ...] = ()
    schema: int = SCHEMA
    kind: Literal["doctor"] = "doctor"
