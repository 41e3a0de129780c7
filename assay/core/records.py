"""Cases, plans and results: frozen records of raw values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from assay.core.errors import UsageError
from assay.core.recipe import Training
from assay.core.units import (
    as_choice,
    as_integer,
    as_number,
    as_seconds,
    as_share,
    without_numpy,
)

Value = str | int | float | bool
Status = Literal["ok", "failed", "crashed", "timeout", "out-of-memory", "skipped", "interrupted"]
Phase = Literal["open", "first", "warmup", "steady"]

SHORTEST_STEP, LONGEST_STEP = 1e-12, 1e9  # seconds that a step can take at all
MAX_INTEGER = 2**63 - 1  # the largest integer that JSON's readers and SQLite can store
MAX_COUNT = 10**9  # samples, steps or processes that a user may request
SCHEMA = 1  # of every document; its history is in codec.py
LEFT_BEHIND = "left_behind"  # fact: processes that outlived the worker and were killed
TIMER_RESOLUTION = "timer_resolution"  # fact: smallest step of a coarse clock, in seconds
REPORTED_PREFIX = "metric "  # prefix of facts about metrics that the program reports
NOT_FINITE = ("nan", "inf", "-inf")  # text for numbers that JSON cannot represent


def comparable_value(value: Value) -> Value:
    """A value that can be stored: the text nan, inf or -inf of a number that is not finite."""
    value = without_numpy(value)
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def arguments(params: Mapping[str, Value], defaults: Mapping[str, Value]) -> dict[str, Value]:
    """Parameters for the workload: nan, inf, -inf become numbers where the default is a float."""
    return {
        name: float(value)
        if value in NOT_FINITE and isinstance(defaults.get(name), float)
        else value
        for name, value in params.items()
    }


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One workload on one backend. `plan` completes it: every parameter, every option.

    Numbers that are not finite become text, as in the documents: so nan equals nan, and
    a case is the same before and after it was stored. `arguments` turns them back.
    """

    workload: str
    backend: str
    params: dict[str, Value] = {}
    options: dict[str, Value] = {}
    key: str = ""  # shortest text that parses to this case
    # The user allows its file to run code (--trust). Not part of the key and never stored
    # (codec.py), so a plan or the user has to allow it again.
    trust: bool | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        for name in ("workload", "backend"):
            if not getattr(self, name):
                raise UsageError(
                    f"A case has no {name}.",
                    hint="A case is WORKLOAD@BACKEND, as in mnist-mlp@keras-jax.",
                )
        for name in ("params", "options"):
            values = {key: comparable_value(value) for key, value in getattr(self, name).items()}
            msgspec.structs.force_setattr(self, name, values)
        for name, value in (*self.params.items(), *self.options.items()):
            if isinstance(value, int) and abs(value) > MAX_INTEGER:
                raise UsageError(
                    f"{name} is {str(value)[:40]}, which is too large.",
                    hint=f"At most {MAX_INTEGER}.",
                )


class Procedure(msgspec.Struct, frozen=True, kw_only=True):
    """How every case of a plan is measured."""

    budget: float = 10.0  # seconds of sampling, for one case, shared by its processes
    target: float = 0.01  # half-width of the interval, as a share of the median
    timeout: float = 600.0  # seconds, for one whole case
    processes: int = 1  # fresh ones, sequentially
    samples: int = 0  # exact number in each process; 0: as many as the target needs
    steps_per_sample: int = 0  # exact number; 0: enough to make the timer's cost negligible
    latency: bool = False  # one step per sample, synchronized
    cold: bool = False  # share no compilation cache between processes
    metric: str = ""  # metric of interleaved samples; "": steps
    communication: bool = False  # profile some steps for its share of a step

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            msgspec.structs.force_setattr(self, name, without_numpy(getattr(self, name)))
        for name, read, usual in (
            ("budget", as_seconds, "10s"),
            ("target", as_share, "1%"),
            ("timeout", as_seconds, "10m"),
        ):
            received = getattr(self, name)
            number = read(received, name, usual)
            if isinstance(received, str):  # Procedure(budget="2s")
                msgspec.structs.force_setattr(self, name, number)
        as_integer(self.processes, "processes", 1, MAX_COUNT, hint="5 is a good number.")
        for name in ("samples", "steps_per_sample"):
            as_integer(getattr(self, name), name, 0, MAX_COUNT, hint="0 lets assay decide.")
        if self.latency and self.steps_per_sample > 1:
            raise UsageError(
                f"latency is set with {self.steps_per_sample} steps per sample.",
                hint="Latency is the time of one step: leave one of the two out.",
            )


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """Measure accuracy instead of time."""

    split: str = "test"  # or tune
    first: int = 0  # examples of the split; 0: all
    expected: float = 0.0  # required percentage; 0: the workload's own
    tolerance: float = 0.05  # points

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            msgspec.structs.force_setattr(self, name, without_numpy(getattr(self, name)))
        as_choice(self.split, "split", ("test", "tune"))
        as_integer(self.first, "first", 0, hint="0 takes the whole split.")
        as_number(self.expected, "expected", 0, 100, hint="It is in percent.")
        as_number(self.tolerance, "tolerance", 0, hint="It is in points.")


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Cases that one run measures, and how."""

    cases: tuple[Case, ...]
    procedure: Procedure = Procedure()
    evaluation: Evaluation | None = None  # None: measure speed
    training: Training | None = None  # before the evaluation
    label: str = ""
    tags: dict[str, str] = {}
    verb: str = "run"  # command that can resume it
    schema: int = SCHEMA
    kind: Literal["plan"] = "plan"

    def __post_init__(self) -> None:
        if not self.cases:
            raise UsageError(
                "The plan has no case to measure.", hint="Name a workload: assay run mnist-mlp"
            )


class Samples(msgspec.Struct, frozen=True, kw_only=True):
    """Raw values of one metric in one phase of one process, in the order they were taken."""

    metric: str
    unit: str
    phase: Phase
    values: tuple[float, ...]
    starts: tuple[float, ...] = ()  # seconds since the worker opened the case
    steps: int = 1  # steps per value, which is their mean
    process: int = 0  # which of the case's processes


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """Where it was measured, without values that look secret."""

    machine: dict[str, Value] = {}
    system: dict[str, Value] = {}
    python: dict[str, Value] = {}
    packages: dict[str, str] = {}
    variables: dict[str, str] = {}
    git: dict[str, Value] = {}
    command: tuple[str, ...] = ()


class WorkloadSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where the source of a user's workload is: with its path it identifies the series."""

    repository: str  # URL of the remote without credentials, else first commit, else folder
    path: str  # in the repository; of a command, the folder it ran in
    folder: str  # of the file, on the machine that measured
    files: dict[str, str] = {}  # path → SHA-256, of the file and what it imports from there
    continues: bool = False  # the older series, known by the text of its case

    @property
    def identity(self) -> str:
        return f"{self.repository} {self.path}"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of one case, failures included. Stored at once and never changed."""

    id: str  # RUN/NNN
    case: Case
    procedure: Procedure
    status: Status
    reason: str = ""
    started: str = ""  # UTC, ISO 8601
    seconds: float = 0.0  # the whole case, opening included
    phases: dict[str, float] = {}  # by phase (core/phases.py); they add up to `seconds`
    samples: tuple[Samples, ...] = ()
    items: int = 0  # items per step
    facts: dict[str, Value] = {}  # what the backend used: dtype, layout, threads, …
    peaks: dict[str, float] = {}  # highest values the monitors saw
    environment: Environment = Environment()
    workload_version: str = ""
    label: str = ""
    tags: dict[str, str] = {}
    source: WorkloadSource | msgspec.UnsetType = msgspec.UNSET  # of a user's workload
    schema: int = SCHEMA
    kind: Literal["result"] = "result"

    @property
    def known_source(self) -> WorkloadSource | None:
        return None if self.source is msgspec.UNSET else self.source

    @property
    def run(self) -> str:
        return self.id.partition("/")[0]

    @property
    def reported_metrics(self) -> frozenset[str]:
        """Metrics reported by the measured program; its `loss` or `step_time` is not assay's."""
        names = (name for name in self.facts if name.startswith(REPORTED_PREFIX))
        return frozenset(name.removeprefix(REPORTED_PREFIX) for name in names)

    def measured_only(self) -> Result:
        """The result without samples of metrics that the program reported."""
        reported = self.reported_metrics
        if not reported:
            return self
        samples = tuple(p for p in self.samples if p.phase != "steady" or p.metric not in reported)
        return msgspec.structs.replace(self, samples=samples)

    def values(self, metric: str, phase: Phase = "steady") -> tuple[float, ...]:
        """All raw values of a metric in a phase, over every process."""
        return tuple(
            value
            for part in self.samples
            if part.metric == metric and part.phase == phase
            for value in part.values
        )


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Which results; empty fields do not restrict."""

    ids: Sequence[str] = ()
    workload: str = ""
    backend: str = ""
    label: str = ""
    status: str = ""
    since: str = ""  # UTC, ISO 8601, or a prefix such as 2026-11
    until: str = ""  # inclusive; a prefix includes all that starts with it
    machine: str = ""  # a part of its host name or processor
    tags: Mapping[str, str] = {}
    commit: str = ""  # or a prefix
    limit: int = 0  # newest N results
