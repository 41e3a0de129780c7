"""The things one can add to assay, and what each must offer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import msgspec

from assay.core.findings import Summary
from assay.core.recipe import Recipe
from assay.core.records import Case, Evaluation, Plan, Query, Result, Value
from assay.core.series import Entry, KeptPoint, KeptSeries, Point
from assay.core.sessions import Builder, Examples, Job, Session


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One choice a backend offers. A value is right if it is listed or fits the pattern."""

    default: Value
    choices: tuple[Value, ...] = ()
    pattern: str = ""  # regular expression for values too many to list
    like: str = ""  # one that fits it
    help: str = ""
    synonyms: Mapping[str, str] = {}  # what others call its values, for a hint


@runtime_checkable
class Workload(Protocol):
    """What is run. `kinds` maps each making ("keras", "torch", …) to its builder.

    What some can do besides has a protocol of its own below.
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
    """A workload some of whose parameters take only certain values."""

    @property
    def choices(self) -> Mapping[str, Sequence[Value]]: ...


@runtime_checkable
class Refusing(Protocol):
    """A workload that not every making can run with any parameters."""

    def refuses(self, kind: str, params: Mapping[str, Value]) -> str:
        """Why this making cannot run with these, known before a process starts, or ""."""


@runtime_checkable
class WithTrust(Protocol):
    """A workload whose file may hold code of its author, which runs only if a user trusts it."""

    def trusted(self) -> Workload: ...


@runtime_checkable
class InferenceOnly(Protocol):
    """A workload that may have nothing to train: its mode is then infer, and train is refused."""

    @property
    def inference_only(self) -> str: ...  # why, in words; "": it trains


@runtime_checkable
class WithPictures(Protocol):
    """A workload that says whether it is given pictures, which have a layout."""

    @property
    def pictures(self) -> bool: ...


@runtime_checkable
class WithExamples(Protocol):
    """A workload that knows the pictures its network is evaluated on."""

    def examples(self, data: str, split: str) -> Examples: ...


@runtime_checkable
class Evaluable(Protocol):
    """A workload whose accuracy is known, or what is needed to know it."""

    @property
    def expected(self) -> float: ...  # percent of the whole test split; 0: not known

    def lacks(
        self, params: Mapping[str, Value], evaluation: Evaluation, home: Path | None = None
    ) -> str:
        """What an evaluation needs and is not here, in words; or ""."""


@runtime_checkable
class Trainable(Protocol):
    """A workload that says how it is trained: by a recipe, or by a method of its own."""

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
        """Why this combination cannot run, known before a process starts, or ""."""

    def variables(self, case: Case, folder: Path) -> Mapping[str, str]:
        """Variables the worker must have before the framework is imported; files go to `folder`."""

    def open(self, build: Callable[[], Job], case: Case) -> AbstractContextManager[Session]:
        """Called in the worker only. Prepares the framework (dtype, seed), then builds the job."""


@runtime_checkable
class EvaluatingBackend(Protocol):
    """A backend whose sessions predict."""

    @property
    def for_evaluation(self) -> Mapping[str, Value]: ...  # options taken where none are chosen


@runtime_checkable
class TrainingBackend(Protocol):
    """A backend whose sessions train."""

    @property
    def for_training(self) -> Mapping[str, Value]: ...  # options taken where none are chosen


@runtime_checkable
class ProfilingBackend(Protocol):
    """A backend that can also record what its framework does."""

    def profile(
        self, folder: Path
    ) -> AbstractContextManager[Callable[[int], AbstractContextManager[object]]]:
        """Called in the worker only: a trace in `folder`; the function given marks a step."""


# A metric of a monitor, and what of its series the result keeps.
Peak = tuple[str, Literal["max", "mean", "last"]]


@runtime_checkable
class Monitor(Protocol):
    """Looks at a worker from the parent. It may keep state, so each worker gets a fresh one."""

    @property
    def period(self) -> float: ...  # seconds between looks; made longer where a look is slow

    @property
    def peaks(self) -> Mapping[str, Peak]: ...  # name in Result.peaks → what it is made of

    def missing(self) -> str:
        """Why it cannot be used here, or ""."""

    def sample(self, pids: Sequence[int]) -> Mapping[str, float]:
        """Metrics of these processes, the worker first; what cannot be read now is left out."""

    def close(self) -> None: ...


@runtime_checkable
class Store(Protocol):
    """Where runs and their results are kept and found again.

    It is made with what stands behind its name in `NAME://PLACE`. Several processes may append at
    once. What cannot be read is passed over, and said in `problems`.
    """

    home: Path  # the folder on this machine that runs are measured in
    problems: list[str]

    def new_run(self, plan: Plan) -> Path:
        """A fresh folder on this machine, `home/runs/RUN`, that holds the plan."""

    def folder(self, run: str) -> Path: ...

    def plan(self, run: str) -> Plan: ...

    def append(self, result: Result) -> None:
        """Kept for good when this returns."""

    def results(self, query: Query) -> Iterator[Result]:
        """Oldest first."""

    def entries(self, query: Query) -> list[Entry]:
        """What the index knows of the results of a query, oldest first, without opening them."""

    def count(self, query: Query) -> int:
        """How many results a query finds, whatever its limit."""

    def find(self, text: str) -> list[str]:
        """Ids behind RUN, RUN/NNN, a unique beginning or ending of RUN, or `last`."""

    def find_run(self, text: str) -> str: ...

    def document(self, run: str, name: str) -> bytes | None:
        """What a run found beside its results, under a name such as `race.json`, if it has it."""

    def keep_document(self, run: str, name: str, data: bytes) -> None: ...

    def summary(self, result_id: str, version: int) -> Summary | None:
        """The summary kept for a result, if it was made by this version of the analysis."""

    def keep_summary(self, result_id: str, version: int, summary: Summary) -> None: ...

    def series(self, query: Query) -> list[KeptSeries]:
        """Every metric of every series that a query's results belong to, from the index alone."""

    def one_series(self, series: str, metric: str) -> KeptSeries | None:
        """One metric of one series by its id, if it has points."""

    def points(self, series: str, metric: str, limit: int = 0) -> list[Point]:
        """Points of a series by its id, oldest first, without opening a result; 0: all, else the
        newest so many. Only results that ended well and have a summary are points."""

    def points_of(self, query: Query, metrics: Sequence[str] = ()) -> list[KeptPoint]:
        """Points of every result that a query finds, oldest first, without opening one; of these
        metrics, or of all."""

    def unsummarized(self, query: Query, version: int) -> list[str]:
        """Ids of results that ended well and have no summary of this version: not points yet."""

    def amend(self, result_id: str, label: str, tags: Mapping[str, str]) -> None:
        """Give a result another label and other tags; what was measured stays as it is."""

    def adopt(self, folder: Path) -> list[str]:
        """Take in a run folder from elsewhere, as it is; the ids of its results."""

    def delete(self, text: str) -> list[str]:
        """Remove a run or a result for good; the ids of what is gone."""

    def close(self) -> None: ...


@runtime_checkable
class SharedStore(Protocol):
    """A store that several machines measure into, and whose files lie elsewhere."""

    def taken(self, run: str) -> AbstractContextManager[None]:
        """While it lasts, nobody else measures the run, here or on another machine."""

    def sizes(self, result_id: str) -> list[int]:
        """Bytes of each file of a result, without bringing one here."""


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """One making of a study's workload, which gets a table of its own."""

    title: str
    params: Mapping[str, Value] = {}
    extra: str = ""  # made only if this is asked for


class Study(msgspec.Struct, frozen=True, kw_only=True):
    """A matrix: every backend that can open a workload, over two options and some variants."""

    summary: str
    workload: str
    sizes: Mapping[str, Mapping[str, Value]]  # parameters of each; the first is the usual one
    rows: tuple[str, tuple[Value, ...]]  # an option, whose values make rows beside the backend
    columns: tuple[str, tuple[Value, ...]]
    variants: tuple[Variant, ...]
