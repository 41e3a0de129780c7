"""Messages between parent and worker, over two pipes: a length, then a msgpack message.

Not JSON: a loss may be nan, and must arrive as nan.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from assay.core.recipe import Training
from assay.core.records import Case, Samples, Value

MODEL_FILES = {".keras", ".h5", ".hdf5"}  # suffixes of files that hold a whole model
MAX_MESSAGE = 1 << 28  # bytes of one message: four characters of text, read as a length, are more
# Statuses that a worker may send; the parent sets the others.
ENDINGS = ("failed", "crashed", "timeout", "out-of-memory", "skipped")
VERSION = 2  # workers of another version are refused
TRUST_VERSION = 3  # for files that may hold code: older workers, which would run it, refuse


class Open(msgspec.Struct, tag="open", frozen=True, kw_only=True):
    """Build the workload and open the backend on it."""

    case: Case
    memory: int = 0  # bytes the worker may take from the host; 0: as many as there are
    outputs: bool = True  # fingerprint outputs and weights before the first step
    counts: bool = True  # count its work, in a case's first process only
    version: int = VERSION

    def __post_init__(self) -> None:
        if self.case.workload.endswith(".pt2") and not self.case.trust:
            msgspec.structs.force_setattr(self, "version", TRUST_VERSION)


class TakeSamples(msgspec.Struct, tag="take", frozen=True, kw_only=True):
    """Take samples of `steps` steps until there are `count` or `seconds` have passed."""

    steps: int
    count: int
    seconds: float


class Calibrate(msgspec.Struct, tag="calibrate", frozen=True, kw_only=True):
    """Find how many steps make one sample."""


class RunSelfTimed(msgspec.Struct, tag="tell", frozen=True, kw_only=True):
    """Run a self-timed session and report as it goes."""


class GetOutputs(msgspec.Struct, tag="outputs", frozen=True, kw_only=True):
    """Send the outputs of a forward pass of the batch without dropout."""


class CheckWait(msgspec.Struct, tag="check", frozen=True, kw_only=True):
    """Check that `wait` waits. It takes steps, so it comes after all samples."""


class Evaluate(msgspec.Struct, tag="evaluate", frozen=True, kw_only=True):
    """Predict the class of every example of a split and count the correct ones."""

    split: str
    first: int  # number of examples; 0: all
    file: str  # where the predicted classes go


class Train(msgspec.Struct, tag="train", frozen=True, kw_only=True):
    """Train the model, report every epoch, and write the weights to a file."""

    training: Training
    weights: str
    checkpoint: str  # written periodically, removed at the end
    earlier: str = ""  # checkpoint of an interrupted training, removed too


class ProfileSteps(msgspec.Struct, tag="profile", frozen=True, kw_only=True):
    """Take `steps` single steps under the framework's profiler, whose trace goes to `folder`.

    A self-timed session is run whole, and reports as it goes.
    """

    folder: str
    steps: int


class TimeTokens(msgspec.Struct, tag="tokens", frozen=True, kw_only=True):
    """Time requests of a text generation session by token, for `seconds`."""

    seconds: float
    warm_up: int = 2  # requests: the first token is compiled separately from the step
    least: int = 3  # requests, however long they take


class Close(msgspec.Struct, tag="close", frozen=True, kw_only=True):
    """Exit normally."""


Request = (
    Open
    | TakeSamples
    | Calibrate
    | RunSelfTimed
    | GetOutputs
    | CheckWait
    | Evaluate
    | Train
    | ProfileSteps
    | TimeTokens
    | Close
)


# Checked by the decoder, so that no parent divides by a broken worker's 0.
Count = Annotated[int, msgspec.Meta(ge=1, le=1 << 53)]


class Opened(msgspec.Struct, tag="opened", frozen=True, kw_only=True):
    seconds: float
    items: Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
    stepped: bool
    facts: dict[str, Value]
    packages: dict[str, str]
    python: dict[str, Value]
    workload_version: str
    version: int = VERSION
    outputs: bool = False  # whether GetOutputs is supported
    phases: dict[str, float] = {}  # seconds of opening, by phase
    generates: bool = False  # whether TimeTokens is supported


class TimedSteps(msgspec.Struct, tag="taken", frozen=True, kw_only=True):
    starts: tuple[float, ...]
    seconds: Annotated[tuple[float, ...], msgspec.Meta(min_length=1)]
    steps: Count


class Calibrated(msgspec.Struct, tag="calibrated", frozen=True, kw_only=True):
    steps: Count


class Reported(msgspec.Struct, tag="told", frozen=True, kw_only=True):
    """One report of a self-timed session."""

    samples: Samples


class OutputValues(msgspec.Struct, tag="given", frozen=True, kw_only=True):
    """A session's outputs, row by row."""

    shape: tuple[int, ...]
    values: tuple[float, ...]


class LateFacts(msgspec.Struct, tag="checked", frozen=True, kw_only=True):
    """Facts that are known only after the samples."""

    facts: dict[str, Value]


class Done(msgspec.Struct, tag="done", frozen=True, kw_only=True):
    """The request is complete; nothing more follows."""


class Failed(msgspec.Struct, tag="failed", frozen=True, kw_only=True):
    status: str
    reason: str
    phases: dict[str, float] = {}  # seconds by phase, if opening failed


Response = Opened | TimedSteps | Calibrated | Reported | OutputValues | LateFacts | Done | Failed


class CaptureRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Request to the process that captures a model; its answer is a file."""

    model: str  # a file of MODEL_FILES, or a workload
    weights: str = ""
    params: dict[str, Value] = {}  # all of the workload's
    data: str = ""  # folder for the test and tune images in HPVM's format; "": none
    save: str = ""  # file for the model's weights; "": none


class CaptureRefused(msgspec.Struct, frozen=True, kw_only=True):
    """An AssayError sent between processes."""

    sentence: str
    hint: str = ""
    status: int = 1


def pack(message: Request | Response) -> bytes:
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(4, "little") + body


def unpack(buffer: bytearray) -> Iterator[bytes]:
    """Complete messages, removed from the front of the buffer."""
    while len(buffer) >= 4:
        end = 4 + int.from_bytes(buffer[:4], "little")
        if len(buffer) < end:
            return
        body = bytes(buffer[4:end])
        del buffer[:end]
        yield body
