"""One measurement repeated over time: what makes two results points of the same series."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import msgspec

from assay.core.records import Environment, Result, Value


class SeriesKey(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that stays the same from point to point; the metric is chosen beside it."""

    workload: str
    version: str = ""  # of the workload
    params: dict[str, Value] = {}
    backend: str
    options: dict[str, Value] = {}
    machine: str = ""
    key: str = ""  # of the case, for people
    how: str = ""  # of processes that took turns: they are not comparable to those alone

    @property
    def id(self) -> str:
        """The same for the same series, on every machine and in every store."""
        parts = msgspec.structs.replace(self, key="")
        return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()[:16]


class KeptSeries(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of a series, as a store knows it without opening a result."""

    series: SeriesKey
    metric: str
    unit: str
    count: int
    first: str  # when its points began, UTC
    last: str


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What a store knows of a result without opening it."""

    id: str
    started: str
    status: str
    workload: str
    backend: str
    key: str
    label: str = ""
    tags: dict[str, str] = {}
    machine: str = ""
    series: str = ""  # its id

    @property
    def run(self) -> str:
        return self.id.partition("/")[0]


class Point(NamedTuple):
    """One result of a series. `low` and `high` are nan where it has no interval."""

    id: str
    started: str
    commit: str
    label: str
    value: float
    low: float
    high: float


class KeptPoint(NamedTuple):
    """A point with what it is a point of."""

    series: SeriesKey
    metric: str
    unit: str
    point: Point


def series_of(result: Result) -> SeriesKey:
    case = result.case
    return SeriesKey(
        workload=case.workload,
        version=result.workload_version,
        params=case.params,
        backend=case.backend,
        # what was added later, at its default, is left out: a series goes on
        options={k: v for k, v in case.options.items() if (k, v) != ("devices", 1)},
        machine=machine_of(result.environment),
        key=case.key,
        how=result.tags.get("order", ""),
    )


def machine_of(environment: Environment) -> str:
    """The name that ASSAY_MACHINE gave it, else its hardware: a container's host name changes."""
    named = environment.variables.get("ASSAY_MACHINE", "")
    if named:
        return named
    facts = environment.machine
    cpus = facts.get("cgroup_cpus") or facts.get("cpus_allowed") or facts.get("cpus")
    gpus = [str(value) for name, value in sorted(facts.items()) if _is_gpu(name)]
    parts = [str(facts.get("cpu", "")), f"{cpus} cpus" if cpus else "", *gpus]
    return ", ".join(filter(None, parts))


def commit_of(result: Result) -> str:
    return str(result.environment.git.get("commit", ""))


def _is_gpu(fact: str) -> bool:
    return fact.startswith("gpu") and fact.removeprefix("gpu").isdecimal()
