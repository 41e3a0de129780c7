"""Series: one measurement repeated over time."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import msgspec

from assay.core.records import Environment, Result, Value

LATER_OPTIONS = (("devices", 1), ("inputs", "same"))  # options that older results do not have


class SeriesKey(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is equal for all points of a series, except the metric."""

    workload: str
    version: str = ""  # of the workload
    params: dict[str, Value] = {}
    backend: str
    options: dict[str, Value] = {}
    machine: str = ""
    key: str = ""  # of the case, for people
    how: str = ""  # interleaved processes are not comparable to solo ones
    source: str = ""  # repository and path of a user's workload, instead of its name

    @property
    def id(self) -> str:
        """Equal for the same series on every machine and in every store."""
        parts = msgspec.structs.replace(self, key="", workload=self._own_workload)
        data = msgspec.json.encode(parts, order="deterministic")
        if not self.source:  # as it was before there was a source
            data = data.removesuffix(b',"source":""}') + b"}"
        return hashlib.sha256(data).hexdigest()[:16]

    @property
    def _own_workload(self) -> str:
        """Without the path, which is typed in several ways, if the source says it."""
        return self.workload.rpartition("/")[2].rpartition(":")[2] if self.source else self.workload


class StoredSeries(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of a series, from the index of a store."""

    series: SeriesKey
    metric: str
    unit: str
    count: int
    first: str  # time of the first point, UTC
    last: str


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """Index entry of a result."""

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
    """One result of a series. `low` and `high` are nan without an interval."""

    id: str
    started: str
    commit: str
    label: str
    value: float
    low: float
    high: float


class StoredPoint(NamedTuple):
    """A point with its series and metric."""

    series: SeriesKey
    metric: str
    unit: str
    point: Point


def series_of(result: Result) -> SeriesKey:
    case, source = result.case, result.known_source
    return SeriesKey(
        workload=case.workload,
        version=result.workload_version,
        params=case.params,
        backend=case.backend,
        # later options at their defaults are left out, to continue older series
        options={k: v for k, v in case.options.items() if (k, v) not in LATER_OPTIONS},
        machine=machine_of(result.environment),
        key=case.key,
        how=result.tags.get("order", ""),
        source=source.identity if source and not source.continues else "",
    )


def machine_of(environment: Environment) -> str:
    """$ASSAY_MACHINE, else its hardware: a container's host name changes."""
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
