"""A job, and what a backend makes of it: a session, and what some sessions can do besides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

import msgspec

from assay.core.records import Samples, Value


class Examples(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is evaluated on."""

    inputs: Any  # numpy, one row an example; pictures have channels last
    labels: Any  # numpy, the class number of each
    ready: Callable[[Any], Any] = lambda inputs: inputs  # rows as stored → as the model takes them
    facts: Mapping[str, Value] = {}  # where they come from


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A model and all it needs to take a step; the only way data reaches a backend."""

    model: Any  # what the kind's framework calls a model
    # "cross-entropy" (of logits and integer labels), "mse", "binary-cross-entropy", "mean" (of all
    # outputs), or a function of outputs and targets
    loss: str | Callable[[Any, Any], Any] = "cross-entropy"
    optimizer: str = "rmsprop"
    learning_rate: float = 0.001
    # inputs and targets: numpy arrays, or tuples (arguments in their order) or dicts (by name) of
    # them; None: made to fit the model
    train_batch: tuple[Any, Any] | None = None
    eval_data: Callable[[str, int], Examples] | None = (
        None  # a split and how many of it, 0 for all → what to evaluate on; called when asked
    )
    train: Callable[[Any], Any] | None = (
        None  # trains the model in its own way and gives it back; None: a recipe does
    )
    as_given: bool = False  # its inputs are as the model takes them, whatever the case's layout
    data_format: str = ""  # the layout its model was built for; "": what the case says
    facts: Mapping[str, Value] = {}  # what the workload tells of the model, such as its weights
    items: int = 0  # what one step handles; 0: the rows of the batch
    trains: bool = True  # False: it can only infer, whatever the mode; so text generation
    eager: bool = False  # operations dispatched one by one, whatever the compiler
    multiply_adds: int = 0  # of one item's forward pass, counted from the model; 0: not known
    loops: bool = False  # its step is a loop, of which frameworks may count the body once
    first: Any = None  # of text generation: a model of the same weights that stops after one token


Builder = Callable[..., Job]


@runtime_checkable
class Stepped(Protocol):
    """A session that assay times. What else it may offer are the protocols below."""

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
class WithOutputs(Protocol):
    """A session that shows what it computes, so that it can be compared to others."""

    def outputs(self) -> Any:
        """Of its batch, without dropout."""


@runtime_checkable
class WithSampledOutputs(Protocol):
    """A session that picks some of its outputs where they are: a device need not move them all."""

    def sampled_outputs(self) -> tuple[tuple[int, ...], Any]:
        """Their shape, and in a row those that `_digest.places` names, as float32 in numpy."""


@runtime_checkable
class WithRead(Protocol):
    """A session that brings a little of what its last step made to the host, and that at once."""

    def read(self) -> object:
        """It cannot end before the device has finished all that was enqueued."""


@runtime_checkable
class WithWeights(Protocol):
    """A session that shows its trained weights."""

    def weights(self) -> Any: ...


# What is timed of text, in seconds.
FIRST_TOKEN, NEXT_TOKEN = "time_to_first_token", "time_per_output_token"


@runtime_checkable
class Generating(Protocol):
    """A session whose step makes text: a prompt is read, then tokens follow."""

    tokens: int  # of a row, in one step; 0: it makes none
    sees_tokens: bool  # the host sees each as it is made; else one compiled loop makes them all

    def first_token(self) -> None:
        """Read the prompt, and return when its first token is there."""

    def next_token(self) -> None:
        """Return when one more is there; only where the host sees them."""


@runtime_checkable
class CountedByModel(Protocol):
    """A session whose model tells how much work a forward pass of the batch is."""

    def multiply_adds(self) -> float: ...


@runtime_checkable
class CountedByFramework(Protocol):
    """A session whose framework counts the multiply-adds of a forward pass of the batch."""

    def macs(self) -> float: ...


@runtime_checkable
class WithProductDtypes(Protocol):
    """A session that tells in which dtypes its products are really computed."""

    def product_dtypes(self) -> str: ...


@runtime_checkable
class PredictingSession(Protocol):
    """A session that can be given other inputs than its batch."""

    def predict(self, inputs: Any) -> Any: ...


@runtime_checkable
class TrainingSession(Protocol):
    """A session that can train its model, by a recipe or by the model's own method."""

    def train(self, order: Any) -> Iterator[Report]: ...
