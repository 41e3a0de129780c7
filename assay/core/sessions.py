"""A job, the session that a backend makes of it, and optional abilities of sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

import msgspec

from assay.core.records import Samples, Value


class Examples(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is evaluated on."""

    inputs: Any  # numpy, one row per example; images have channels last
    labels: Any  # numpy, the class number of each
    ready: Callable[[Any], Any] = lambda inputs: inputs  # stored rows → inputs of the model
    facts: Mapping[str, Value] = {}  # where they come from


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A model and its data: all that a backend needs to take a step."""

    model: Any  # a model of the kind's framework
    # "cross-entropy" (of logits and integer labels), "mse", "binary-cross-entropy", "mean" (of all
    # outputs), or a function of outputs and targets
    loss: str | Callable[[Any, Any], Any] = "cross-entropy"
    optimizer: str = "rmsprop"
    learning_rate: float = 0.001
    # inputs and targets: numpy arrays, or tuples (positional) or dicts (by name) of them; None:
    # generated for the model
    train_batch: tuple[Any, Any] | None = None
    eval_data: Callable[[str, int], Examples] | None = (
        None  # split, number of examples (0: all) → examples; called when needed
    )
    train: Callable[[Any], Any] | None = (
        None  # trains the model its own way and returns it; None: a recipe does
    )
    as_given: bool = False  # inputs match the model whatever the case's layout
    data_format: str = ""  # layout of the model; "": the case's
    facts: Mapping[str, Value] = {}  # facts about the model, such as its weights
    items: int = 0  # items per step; 0: the rows of the batch
    trains: bool = True  # False: inference only, such as text generation
    eager: bool = False  # eager execution, whatever the compiler
    multiply_adds: int = 0  # per item and forward pass; 0: not known
    loops: bool = False  # its step is a loop; frameworks may count its body once
    first: Any = None  # for text generation: the same model, stopping after one token


Builder = Callable[..., Job]


@runtime_checkable
class Stepped(Protocol):
    """A session that assay times. Its optional abilities are the protocols below."""

    items: int  # per step

    def step(self) -> None:
        """Enqueue one unit of work."""

    def wait(self) -> None:
        """Return when the device has finished all of it."""

    def facts(self) -> Mapping[str, Value]:
        """Parameters, dtype, layout, threads, devices in use."""


class Report(msgspec.Struct, frozen=True):
    """Values that a self-timed session reports, and their status."""

    samples: Samples
    status: str = "ok"
    reason: str = ""


@runtime_checkable
class SelfTimed(Protocol):
    """A session that measures itself: fit(), commands, benchmark methods, binaries."""

    items: int

    def run(self) -> Iterator[Report]: ...

    def facts(self) -> Mapping[str, Value]: ...


Session = Stepped | SelfTimed


@runtime_checkable
class HasOutputs(Protocol):
    """A session with outputs that can be compared to others."""

    def outputs(self) -> Any:
        """Of its batch, without dropout."""


@runtime_checkable
class TakesInputs(Protocol):
    """A session whose steps can take other inputs than its batch."""

    def fresh_inputs(self, number: int) -> Any:
        """Inputs as the batch, placed where the steps take them, with other values for every
        `number`; 0: the batch."""

    def set_inputs(self, inputs: Any) -> None:
        """What the next steps take."""


@runtime_checkable
class HasStepOutput(Protocol):
    """A session that keeps the output of its last inference step."""

    def step_output(self) -> tuple[tuple[int, ...], Any]:
        """As `sampled_outputs`; only if its mode is infer."""


@runtime_checkable
class Calling(Protocol):
    """A session whose step is one call without inputs, which may return something."""

    call: Callable[[], Any]


@runtime_checkable
class HasSampledOutputs(Protocol):
    """A session that samples its outputs on the device."""

    def sampled_outputs(self) -> tuple[tuple[int, ...], Any]:
        """Shape of all outputs, and those at `fingerprint.places`, flat, as float32 in numpy."""


@runtime_checkable
class HasRead(Protocol):
    """A session that can copy a little of its last step's output to the host, synchronously."""

    def read(self) -> object:
        """It returns only after the device has finished all that was enqueued."""


@runtime_checkable
class HasWeights(Protocol):
    """A session that shows its trained weights."""

    def weights(self) -> Any: ...


# Metrics of text generation, in seconds.
FIRST_TOKEN, NEXT_TOKEN = "time_to_first_token", "time_per_output_token"


@runtime_checkable
class Generating(Protocol):
    """A session whose step generates text from a prompt."""

    tokens: int  # per row and step; 0: none
    sees_tokens: bool  # the host gets each one; else one compiled loop makes all

    def first_token(self) -> None:
        """Process the prompt and return with the first token."""

    def next_token(self) -> None:
        """Return with the next token; only if `sees_tokens`."""


@runtime_checkable
class CountedByModel(Protocol):
    """A session whose model counts the multiply-adds of a forward pass of the batch."""

    def multiply_adds(self) -> float: ...


@runtime_checkable
class CountedByFramework(Protocol):
    """A session whose framework counts the multiply-adds of a forward pass of the batch."""

    def macs(self) -> float: ...


@runtime_checkable
class CountsExecuted(Protocol):
    """A session that knows the products of a forward pass of the batch."""

    def executed_macs(self) -> float:
        """Multiply-adds that the best known algorithm executes, such as Winograd convolution."""


@runtime_checkable
class CountsAgain(Protocol):
    """A session whose model may compute something else in a later forward pass."""

    def count_again(self) -> tuple[float, str]:
        """Multiply-adds and dtypes of products of a forward pass of the batch, now."""


@runtime_checkable
class HasProductDtypes(Protocol):
    """A session that reports the dtypes of its matrix products."""

    def product_dtypes(self) -> str: ...


@runtime_checkable
class PredictingSession(Protocol):
    """A session that can run on other inputs than its batch."""

    def predict(self, inputs: Any) -> Any: ...


@runtime_checkable
class TrainingSession(Protocol):
    """A session that can train its model, by a recipe or by the model's own method."""

    def train(self, order: Any) -> Iterator[Report]: ...
