"""The things one can add to assay, and what each must offer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from assay.recipe import Recipe
from assay.records import Case, Evaluation, Query, Result, Samples, Value


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One choice a backend offers. A value is right if it is listed or fits the pattern."""

    default: Value
    choices: tuple[Value, ...] = ()
    pattern: str = ""  # regular expression for values too many to list
    like: str = ""  # one that fits it
    help: str = ""


class Examples(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is evaluated on."""

    inputs: Any  # numpy, one row an example; pictures have channels last
    labels: Any  # numpy, the class number of each
    ready: Callable[[Any], Any] = lambda inputs: inputs  # rows as stored → as the model takes them
    facts: Mapping[str, Value] = {}  # where they come from


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A model and all it needs to take a step; the only way data reaches a backend."""

    model: Any  # what the kind's framework calls a model
    loss: str = "cross-entropy"  # of logits and integer labels; or "mse", "binary-cross-entropy"
    optimizer: str = "rmsprop"
    learning_rate: float = 0.001
    train_batch: tuple[Any, Any] | None = (
        None  # numpy inputs and targets; None: made to fit the model
    )
    eval_data: Callable[[str, int], Examples] | None = (
        None  # a split and how many of it, 0 for all → what to evaluate on; called when asked
    )
    train: Callable[[Any], Any] | None = (
        None  # trains the model in its own way and gives it back; None: a recipe does
    )
    data_format: str = ""  # the layout its model was built for; "": what the case says
    facts: Mapping[str, Value] = {}  # what the workload tells of the model, such as its weights
    items: int = 0  # what one step handles; 0: the rows of the batch
    trains: bool = True  # False: it can only infer, whatever the mode; so text generation
    eager: bool = False  # operations dispatched one by one, whatever the compiler
    multiply_adds: int = 0  # of one item's forward pass, counted from the model; 0: not known


Builder = Callable[..., Job]


@runtime_checkable
class Workload(Protocol):
    """What is run. `kinds` maps each making ("keras", "torch", …) to its builder.

    It may offer `choices`: the values of a parameter that takes no others; and `refuses(kind,
    params)`: why a making cannot run with these, known before a process starts, or "".
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
class Stepped(Protocol):
    """A session that assay times.

    It may offer what shows that it does the same work as others: `outputs()` of its batch without
    dropout, `weights()` that are trained, both as numpy; `macs()` of that batch's forward pass by
    the framework's count, `multiply_adds()` by the model's; `product_dtypes()` really used.
    """

    items: int  # what one step handles

    def step(self) -> None:
        """Enqueue one unit of work."""

    def wait(self) -> None:
        """Return only when the device has finished all of it."""

    def facts(self) -> Mapping[str, Value]:
        """What is really run: parameters, dtype, layout, threads, devices."""


class Report(msgspec.Struct, frozen=True):
    """One thing a self-timed session says: values, and how it fared."""

    samples: Samples
    status: str = "ok"
    reason: str = ""


@runtime_checkable
class SelfTimed(Protocol):
    """A session that tells its own numbers: fit(), commands, benchmark methods, binaries."""

    items: int

    def run(self) -> Iterator[Report]: ...

    def facts(self) -> Mapping[str, Value]: ...


Session = Stepped | SelfTimed


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

    def world(self, case: Case, folder: Path) -> Mapping[str, str]:
        """Variables the worker must have before the framework is imported; files go to `folder`."""

    def open(self, build: Callable[[], Job], case: Case) -> AbstractContextManager[Session]:
        """Called in the worker only. Prepares the framework (dtype, seed), then builds the job."""


@runtime_checkable
class Profiling(Protocol):
    """A backend that can also watch what its framework does."""

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
    def period(self) -> float: ...  # seconds between looks; made longer where a look is dear

    @property
    def peaks(self) -> Mapping[str, Peak]: ...  # name in Result.peaks → what it is made of

    def missing(self) -> str:
        """Why it cannot be used here, or ""."""

    def sample(self, pids: Sequence[int]) -> Mapping[str, float]:
        """Metrics of these processes, the worker first; what cannot be read now is left out."""

    def close(self) -> None: ...


@runtime_checkable
class Store(Protocol):
    """Where results are kept and found again."""

    def append(self, result: Result) -> None: ...

    def results(self, query: Query) -> Iterator[Result]: ...

    def close(self) -> None: ...


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
