"""Protocols of plug-ins: workloads, backends, monitors, stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import msgspec

from assay.core.findings import Summary
from assay.core.recipe import Recipe
from assay.core.records import Case, Evaluation, Plan, Query, Result, Value
from assay.core.series import Entry, Point, StoredPoint, StoredSeries
from assay.core.sessions import Builder, Examples, Job, Session


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One choice a backend offers. A value is right if it is listed or fits the pattern."""

    default: Value
    choices: tuple[Value, ...] = ()
    pattern: str = ""  # regular expression for values too many to list
    like: str = ""  # example that matches it
    help: str = ""
    synonyms: Mapping[str, str] = {}  # other tools' names for its values, for a hint


@runtime_checkable
class Workload(Protocol):
    """What is run. `kinds` maps each implementation ("keras", "torch", …) to its builder.

    Optional abilities have their own protocols below.
    """

    @property
    def summary(self) -> str: ...  # one line: what it is

    @property
    def source(self) -> str: ...  # where it comes from

    @property
    def version(self) -> str: ...  # changed when results stop being comparable

    @property
    def params(self) -> Mapping[str, Value]: ...  # every parameter with its default

    @property
    def kinds(self) -> Mapping[str, Builder]: ...


@runtime_checkable
class WithChoices(Protocol):
    """A workload with parameters that are limited to certain values."""

    @property
    def choices(self) -> Mapping[str, Sequence[Value]]: ...


@runtime_checkable
class Refusing(Protocol):
    """A workload with implementations that do not support all parameters."""

    def refuses(self, kind: str, params: Mapping[str, Value]) -> str:
        """Why this implementation cannot run with these parameters, or "". Called in the parent."""


@runtime_checkable
class WithTrust(Protocol):
    """A workload whose file may hold code of its author, which runs only if a user trusts it."""

    def trusted(self) -> Workload: ...


@runtime_checkable
class InferenceOnly(Protocol):
    """A workload that may have nothing to train: mode infer only."""

    @property
    def inference_only(self) -> str: ...  # reason; "": it can train


@runtime_checkable
class TakesImages(Protocol):
    """A workload that says whether its inputs are images, which have a layout."""

    @property
    def pictures(self) -> bool: ...


@runtime_checkable
class WithExamples(Protocol):
    """A workload with images to evaluate its network on."""

    def examples(self, data: str, split: str) -> Examples: ...


@runtime_checkable
class Evaluable(Protocol):
    """A workload with a known accuracy, or one that can be evaluated."""

    @property
    def expected(self) -> float: ...  # percent of the whole test split; 0: not known

    def lacks(
        self, params: Mapping[str, Value], evaluation: Evaluation, home: Path | None = None
    ) -> str:
        """What an evaluation needs that is missing here, or ""."""


@runtime_checkable
class Trainable(Protocol):
    """A workload that is trained by a recipe or by its own method."""

    @property
    def recipe(self) -> Recipe | None: ...

    @property
    def trains_itself(self) -> bool: ...


@runtime_checkable
class Backend(Protocol):
    """How it is run."""

    @property
    def summary(self) -> str: ...

    @property
    def accepts(self) -> frozenset[str]: ...  # the kinds it can open

    @property
    def options(self) -> Mapping[str, Option]: ...

    def missing(self) -> str:
        """Why it cannot be used here, with the remedy, or "". Imports no framework."""

    def refuses(self, case: Case) -> str:
        """Why this combination cannot run, or "". Called in the parent."""

    def variables(self, case: Case, folder: Path) -> Mapping[str, str]:
        """Variables the worker must have before the framework is imported; files go to `folder`."""

    def open(self, build: Callable[[], Job], case: Case) -> AbstractContextManager[Session]:
        """Called in the worker only. Prepares the framework (dtype, seed), then builds the job."""


@runtime_checkable
class OnRequest(Protocol):
    """A backend that takes part in a run only if it is named, or if no other is usable."""

    @property
    def on_request(self) -> str: ...  # why, as in "it compiles each model first"; "": it does


@runtime_checkable
class EvaluatingBackend(Protocol):
    """A backend whose sessions predict."""

    @property
    def for_evaluation(self) -> Mapping[str, Value]: ...  # defaults of options


@runtime_checkable
class TrainingBackend(Protocol):
    """A backend whose sessions train."""

    @property
    def for_training(self) -> Mapping[str, Value]: ...  # defaults of options


@runtime_checkable
class ProfilingBackend(Protocol):
    """A backend with a profiler."""

    def profile(
        self, folder: Path
    ) -> AbstractContextManager[Callable[[int], AbstractContextManager[object]]]:
        """Called in the worker only: a trace in `folder`; the yielded function marks a step."""


# A metric of a monitor, and how its series is reduced for the result.
Peak = tuple[str, Literal["max", "mean", "last"]]


@runtime_checkable
class Monitor(Protocol):
    """Samples a worker from the parent. It may keep state: a fresh one per worker."""

    @property
    def period(self) -> float: ...  # seconds between samples; longer if sampling is slow

    @property
    def peaks(self) -> Mapping[str, Peak]: ...  # name in Result.peaks → its source

    def missing(self) -> str:
        """Why it cannot be used here, or ""."""

    def sample(self, pids: Sequence[int]) -> Mapping[str, float]:
        """Metrics of these processes, the worker first; what cannot be read now is left out."""

    def close(self) -> None: ...


@runtime_checkable
class Store(Protocol):
    """Where runs and their results are stored.

    Constructed with the part after `NAME://`. Several processes may append at once. Unreadable
    files are skipped and listed in `problems`.
    """

    home: Path  # local folder for runs
    problems: list[str]

    def new_run(self, plan: Plan) -> Path:
        """A fresh folder on this machine, `home/runs/RUN`, that holds the plan."""

    def folder(self, run: str) -> Path: ...

    def plan(self, run: str) -> Plan: ...

    def append(self, result: Result) -> None:
        """Durable when this returns."""

    def results(self, query: Query) -> Iterator[Result]:
        """Oldest first."""

    def entries(self, query: Query) -> list[Entry]:
        """Index entries of the results of a query, oldest first, without opening them."""

    def count(self, query: Query) -> int:
        """Number of results of a query, ignoring its limit."""

    def find(self, text: str) -> list[str]:
        """Ids for RUN, RUN/NNN, a unique prefix or suffix of RUN, or `last`."""

    def find_run(self, text: str) -> str: ...

    def document(self, run: str, name: str) -> bytes | None:
        """A further document of a run, such as `race.json`, if it has one."""

    def keep_document(self, run: str, name: str, data: bytes) -> None: ...

    def summary(self, result_id: str, version: int) -> Summary | None:
        """The stored summary of a result, if this version of the analysis made it."""

    def keep_summary(self, result_id: str, version: int, summary: Summary) -> None: ...

    def series(self, query: Query) -> list[StoredSeries]:
        """Every metric of every series of a query's results, from the index alone."""

    def one_series(self, series: str, metric: str) -> StoredSeries | None:
        """One metric of a series by its id, if it has points."""

    def points(self, series: str, metric: str, limit: int = 0) -> list[Point]:
        """Points of a series by its id, oldest first, without opening a result; limit 0: all, else
        the newest. Only successful results with a summary are points."""

    def points_of(self, query: Query, metrics: Sequence[str] = ()) -> list[StoredPoint]:
        """Points of a query's results, oldest first, without opening them; of these metrics or of
        all."""

    def unsummarized(self, query: Query, version: int) -> list[str]:
        """Ids of successful results without a summary of this version: not points yet."""

    def amend(self, result_id: str, label: str, tags: Mapping[str, str]) -> None:
        """Change the label and tags of a result, not its measurements."""

    def adopt(self, folder: Path) -> list[str]:
        """Import a run folder unchanged; returns the ids of its results."""

    def delete(self, text: str) -> list[str]:
        """Remove a run or a result permanently; returns the removed ids."""

    def close(self) -> None: ...


@runtime_checkable
class SharedStore(Protocol):
    """A store that several machines write to, with remote files."""

    def taken(self, run: str) -> AbstractContextManager[None]:
        """Lock a run against other processes and machines."""

    def sizes(self, result_id: str) -> list[int]:
        """Bytes of each file of a result, without downloading them."""


@runtime_checkable
class SendingStore(Protocol):
    """A store that may be unreachable; results wait in the outbox until it is opened again."""

    def send_pending(self, rejected: bool = False) -> None:
        """Send what waits for this store; also what its server `rejected` before."""


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """A variant of a study's workload, with its own table."""

    title: str
    params: Mapping[str, Value] = {}
    extra: str = ""  # included only on request


class Study(msgspec.Struct, frozen=True, kw_only=True):
    """A matrix: every backend that can open a workload, over two options and some variants."""

    summary: str
    workload: str
    sizes: Mapping[str, Mapping[str, Value]]  # parameters of each; the first is the default
    rows: tuple[str, tuple[Value, ...]]  # an option, whose values make rows beside the backend
    columns: tuple[str, tuple[Value, ...]]
    variants: tuple[Variant, ...]
