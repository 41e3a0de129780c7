"""What was asked and what was measured: frozen records of raw values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from assay.core.errors import UsageError
from assay.core.recipe import Training
from assay.core.units import as_seconds, as_share

Value = str | int | float | bool
Status = Literal["ok", "failed", "crashed", "timeout", "out-of-memory", "skipped", "interrupted"]
Phase = Literal["open", "first", "warmup", "steady"]

SHORTEST_STEP, LONGEST_STEP = 1e-12, 1e9  # seconds that a step can take at all
LARGEST = 2**63 - 1  # a whole number that JSON's readers and SQLite can keep
MOST = 10**9  # samples, steps or processes that can be asked for
SCHEMA = 1  # of every document; its history is in codec.py
LEFT_BEHIND = "left_behind"  # the fact that names processes which outlived theirs, and were ended
REPORTED = "metric "  # how a fact begins that says how a metric of the program's own fared
NOT_FINITE = ("nan", "inf", "-inf")  # how documents spell the numbers that JSON cannot represent


def _check(holds: bool, name: str, received: object, expected: str, hint: str) -> None:
    if not holds:
        raise UsageError(f"{name} is {received}, but has to be {expected}.", hint=hint)


def spelled(value: Value) -> Value:
    """A number that is not finite as the text nan, inf or -inf; anything else as it is."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def arguments(params: Mapping[str, Value], defaults: Mapping[str, Value]) -> dict[str, Value]:
    """Parameters of a case as its workload takes them: nan, inf and -inf are numbers again where
    the default is a float."""
    return {
        name: float(value)
        if value in NOT_FINITE and isinstance(defaults.get(name), float)
        else value
        for name, value in params.items()
    }


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One workload on one backend. `plan` completes it: every parameter, every option.

    Numbers that are not finite become text (`spelled`), as in the documents: so nan equals nan, and
    a case is the same before and after it was stored. `arguments` turns them back.
    """

    workload: str
    backend: str
    params: dict[str, Value] = {}
    options: dict[str, Value] = {}
    key: str = ""  # the shortest text that names this case again
    # The user lets its file run code (--trust). It is no part of the key, and no stored result has
    # it (codec.py): whoever measures one again has to be trusted by a plan, or anew.
    trust: bool | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        for name in ("workload", "backend"):
            if not getattr(self, name):
                raise UsageError(
                    f"A case was made without a {name}.",
                    hint="A case is WORKLOAD@BACKEND, as in mnist-mlp@keras-jax.",
                )
        for name in ("params", "options"):
            values = {key: spelled(value) for key, value in getattr(self, name).items()}
            msgspec.structs.force_setattr(self, name, values)
        for name, value in (*self.params.items(), *self.options.items()):
            if isinstance(value, int) and abs(value) > LARGEST:
                raise UsageError(
                    f"{name} is {str(value)[:40]}, which is more than a number may be here.",
                    hint=f"At most {LARGEST}.",
                )


class Procedure(msgspec.Struct, frozen=True, kw_only=True):
    """How every case of a plan is measured."""

    budget: float = 10.0  # seconds of sampling, for one case, shared by its processes
    target: float = 0.01  # half-width of the interval, as a share of the median
    timeout: float = 600.0  # seconds, for one whole case
    processes: int = 1  # fresh ones, one after the other
    samples: int = 0  # exactly so many in each process; 0: as many as the target needs
    steps_per_sample: int = 0  # exactly so many; 0: enough to make the timer's cost vanish
    latency: bool = False  # one step a sample, each waited for
    cold: bool = False  # nothing compiled is shared between processes
    metric: str = ""  # what turns are taken of; "": steps
    communication: bool = False  # then some steps under the profiler, for its share of a step

    def __post_init__(self) -> None:
        for name, read, usual in (
            ("budget", as_seconds, "10s"),
            ("target", as_share, "1%"),
            ("timeout", as_seconds, "10m"),
        ):
            given = getattr(self, name)
            found = read(given, name, usual)
            if isinstance(given, str):  # as a user types it: Procedure(budget="2s")
                msgspec.structs.force_setattr(self, name, found)
        _check(self.processes > 0, "processes", self.processes, "1 or more", "5 is a good number.")
        for name in ("processes", "samples", "steps_per_sample"):
            value = getattr(self, name)
            _check(value <= MOST, name, str(value)[:40], f"{MOST} or less", "0 lets assay decide.")
        _check(self.samples >= 0, "samples", self.samples, "0 or more", "0 lets assay decide.")
        _check(
            self.steps_per_sample >= 0,
            "steps_per_sample",
            self.steps_per_sample,
            "0 or more",
            "0 lets assay decide.",
        )
        if self.latency and self.steps_per_sample > 1:
            raise UsageError(
                f"latency was given with {self.steps_per_sample} steps per sample.",
                hint="Latency is the time of one step: leave one of the two out.",
            )


def changed_parts(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Those parts of a procedure that are not its defaults."""
    made, usual = Procedure(**parts), Procedure()
    return {name: parts[name] for name in parts if getattr(made, name) != getattr(usual, name)}


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is to find out of accuracy, instead of time."""

    split: str = "test"  # or tune
    first: int = 0  # examples of the split; 0: all
    expected: float = 0.0  # percent that must come out; 0: at least what the workload knows
    tolerance: float = 0.05  # points

    def __post_init__(self) -> None:
        splits = ("test", "tune")
        _check(self.split in splits, "split", f"'{self.split}'", "test or tune", "--split test")
        _check(self.first >= 0, "first", self.first, "0 or more", "0 takes the whole split.")
        _check(
            0 <= self.expected <= 100, "expected", self.expected, "0 to 100", "It is in percent."
        )
        _check(self.tolerance >= 0, "tolerance", self.tolerance, "0 or more", "It is in points.")


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What one run is to measure."""

    cases: tuple[Case, ...]
    procedure: Procedure = Procedure()
    evaluation: Evaluation | None = None  # None: how fast it is, as the procedure says
    training: Training | None = None  # that comes before the evaluation
    label: str = ""
    tags: dict[str, str] = {}
    verb: str = "run"  # of the command line, which knows how to go on with it
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
    steps: int = 1  # steps behind each value, which is their mean
    process: int = 0  # which of the case's processes


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """Where it was measured. Values that look secret are never in here."""

    machine: dict[str, Value] = {}
    system: dict[str, Value] = {}
    python: dict[str, Value] = {}
    packages: dict[str, str] = {}
    variables: dict[str, str] = {}
    git: dict[str, Value] = {}
    command: tuple[str, ...] = ()


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How one case ended, whatever the ending. Stored at once and never changed."""

    id: str  # RUN/NNN
    case: Case
    procedure: Procedure
    status: Status
    reason: str = ""
    started: str = ""  # UTC, ISO 8601
    seconds: float = 0.0  # the whole case, opening included
    phases: dict[str, float] = {}  # where they went (core/phases.py); they add up to them
    samples: tuple[Samples, ...] = ()
    items: int = 0  # what one step handles
    facts: dict[str, Value] = {}  # what the backend really did: dtype, layout, threads, …
    peaks: dict[str, float] = {}  # highest values the monitors saw
    environment: Environment = Environment()
    workload_version: str = ""
    label: str = ""
    tags: dict[str, str] = {}
    schema: int = SCHEMA
    kind: Literal["result"] = "result"

    @property
    def run(self) -> str:
        return self.id.partition("/")[0]

    @property
    def reported(self) -> frozenset[str]:
        """Metrics that the measured program named, in its log or reports: `loss` or `step_time`
        among them is the program's, and never what assay calls so."""
        names = (name for name in self.facts if name.startswith(REPORTED))
        return frozenset(name.removeprefix(REPORTED) for name in names)

    def own(self) -> Result:
        """Only what assay itself measured: without the samples of metrics the program named."""
        reported = self.reported
        if not reported:
            return self
        kept = tuple(p for p in self.samples if p.phase != "steady" or p.metric not in reported)
        return msgspec.structs.replace(self, samples=kept)

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
    since: str = ""  # UTC, ISO 8601, or the beginning of one, such as 2026-11
    until: str = ""  # not after it; of a beginning, all that begins so
    machine: str = ""  # a part of its host name or processor
    tags: Mapping[str, str] = {}
    commit: str = ""  # or the beginning of one
    limit: int = 0  # the newest so many
