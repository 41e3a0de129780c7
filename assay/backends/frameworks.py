"""The backends jax, tensorflow and torch, without Keras, and their options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.backends import data_parallel, profilers
from assay.backends import options as _options
from assay.core import phases
from assay.core.contracts import Option
from assay.core.records import Case, Value
from assay.core.sessions import Job, Session

if TYPE_CHECKING:
    from assay.backends.torch.ddp import TeamMember


class FrameworkBackend(msgspec.Struct, frozen=True, kw_only=True):
    """One framework, without Keras. Its session is in `NAME/session.py`, loaded in the worker."""

    name: str
    summary: str
    own: Mapping[str, Option] = {}  # in addition to common options
    refusal: Callable[[Case], str] = lambda case: ""
    processes: bool = False  # several devices are several processes

    @property
    def for_evaluation(self) -> Mapping[str, Value]:
        """Defaults of options for an evaluation."""
        return {"mode": "infer"}

    @property
    def accepts(self) -> frozenset[str]:
        return frozenset({self.name})

    @property
    def options(self) -> Mapping[str, Option]:
        return {**_options.COMMON, "devices": data_parallel.DEVICES, **self.own}

    def missing(self) -> str:
        return _options.missing_reason(("numpy", self.name), self.name)

    def refuses(self, case: Case) -> str:
        return _options.refusal(case) or data_parallel.refusal(case) or self.refusal(case)

    def variables(self, case: Case, folder: Path) -> Mapping[str, str]:
        return {**_options.device_variables(case), **data_parallel.variables(case)}

    @contextmanager
    def open(self, build: Callable[[], Job], case: Case) -> Iterator[Session]:
        if self.processes and data_parallel.count(case) > 1:
            from assay.backends.torch import ddp

            with ddp.start_team(
                data_parallel.count(case), lambda m: _open_member(build, case, m)
            ) as first:
                yield _open_member(build, case, first)
            return
        with phases.during("import"):
            setup = import_module(f"assay.backends.{self.name}.setup")
            session = import_module(f"assay.backends.{self.name}.session")
        setup.prepare(case)
        with setup.open_devices(case) as devices:
            yield session.open_session(build(), case, devices)

    def profile(self, folder: Path) -> AbstractContextManager[profilers.Mark]:
        return profilers.PROFILERS[self.name](folder)


def _open_member(build: Callable[[], Job], case: Case, member: TeamMember) -> Session:
    """Run in each process of a team, including the worker."""
    with phases.during("import"):
        from assay.backends.torch import session as _session
        from assay.backends.torch import setup as _setup
    _setup.prepare(case)
    member.join()
    return _session.open_session(build(), case, member)


JAX_COMPILER = Option(
    default="on",
    choices=("on", "off"),
    help="jax.jit of the whole step, or op by op",
    synonyms=_options.SWITCH,
)
TENSORFLOW_COMPILER = Option(
    default="off",
    choices=("off", "on"),
    help="jit_compile of the tf.function around the step",
    synonyms=_options.SWITCH,
)
TORCH_COMPILER = Option(
    default="off",
    choices=("off", "on", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"),
    help="torch.compile; on is its default mode, the others are its modes of that name",
    synonyms={**_options.SWITCH, "default": "on"},
)
CUDA_GRAPHS = Option(
    default="off",
    choices=("off", "on"),
    help="capture one whole step and replay it",
    synonyms=_options.SWITCH,
)
DATA_FORMAT = Option(
    default="channels_first",
    choices=("channels_first", "channels_last"),
    help="channels_last is torch's memory format of that name; the axes stay as they are",
    synonyms=_options.DATA_FORMAT.synonyms,
)


def _torch_refusal(case: Case) -> str:
    if case.options["cuda_graphs"] == "off":
        return ""
    if data_parallel.count(case) > 1:
        return "a CUDA graph holds the work of one process, and each device has its own"
    if _options.runs_on_cpu(case):
        return "CUDA graphs need an NVIDIA GPU, and this case runs on the CPU"
    if case.options["compiler"] in ("reduce-overhead", "max-autotune"):
        return (
            f"compiler {case.options['compiler']} makes CUDA graphs itself; with cuda_graphs=on "
            "use compiler on or max-autotune-no-cudagraphs"
        )
    if case.options["precision"] == "float16" and case.options["mode"] == "train":
        return (
            "in training, float16's loss scaling asks the host after each step, which no CUDA "
            "graph can hold"
        )
    return ""


PROVIDES = {
    "jax": FrameworkBackend(name="jax", summary="JAX by itself", own={"compiler": JAX_COMPILER}),
    "tensorflow": FrameworkBackend(
        name="tensorflow",
        summary="TensorFlow by itself",
        own={"compiler": TENSORFLOW_COMPILER},
        refusal=lambda case: (
            _options.channels_first_refusal(case) or data_parallel.compiler_refusal(case)
        ),
    ),
    "torch": FrameworkBackend(
        name="torch",
        summary="PyTorch by itself",
        own={"compiler": TORCH_COMPILER, "cuda_graphs": CUDA_GRAPHS, "data_format": DATA_FORMAT},
        refusal=_torch_refusal,
        processes=True,
    ),
}
