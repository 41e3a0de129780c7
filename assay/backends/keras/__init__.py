"""Keras 3 on TensorFlow, JAX and PyTorch: three backends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path

import msgspec

from assay.backends import data_parallel, profilers
from assay.backends import options as _options
from assay.backends.keras import engines
from assay.core import phases
from assay.core.contracts import Option
from assay.core.records import Case, Value
from assay.core.sessions import Job, Session


class KerasBackend(msgspec.Struct, frozen=True):
    """Keras on one engine, whose file has the session."""

    engine: str
    compiled: str  # Keras' default of jit_compile on this engine
    refusal: Callable[[Case], str] = lambda case: ""
    accepts: frozenset[str] = frozenset({"keras"})
    unhurried: Mapping[str, Value] = {}  # options for real data, where speed is not measured

    @property
    def summary(self) -> str:
        return f"Keras 3 on {self.engine}"

    @property
    def options(self) -> Mapping[str, Option]:
        return {
            **_options.COMMON,
            "devices": data_parallel.DEVICES,
            "compiler": Option(
                default=self.compiled,
                choices=("off", "on"),
                help="Keras' jit_compile",
                synonyms=_options.SWITCH,
            ),
            "method": Option(
                default="step", choices=("step", "fit"), help="single steps, or one call of fit()"
            ),
            "epochs": Option(default=4, pattern=r"[1-9]\d*", help="of fit(); the first is apart"),
            "examples": Option(default=1000, pattern=r"[1-9]\d*", help="of one epoch of fit()"),
        }

    @property
    def for_evaluation(self) -> Mapping[str, Value]:
        """Defaults of options for an evaluation."""
        return {"mode": "infer", **self.unhurried}

    @property
    def for_training(self) -> Mapping[str, Value]:
        """Defaults of options for a training."""
        return self.unhurried

    def missing(self) -> str:
        return _options.missing_reason(("numpy", "keras", self.engine), self.engine)

    def refuses(self, case: Case) -> str:
        return _options.refusal(case) or data_parallel.refusal(case) or self.refusal(case)

    def variables(self, case: Case, folder: Path) -> Mapping[str, str]:
        keras = engines.variables(self.engine, str(case.options["data_format"]), folder)
        return {**keras, **_options.device_variables(case), **data_parallel.variables(case)}

    @contextmanager
    def open(self, build: Callable[[], Job], case: Case) -> Iterator[Session]:
        with phases.during("import"):
            setup = import_module(f"assay.backends.{self.engine}.setup")
            engine = import_module(f"assay.backends.keras.{self.engine}")
            from assay.backends.keras import fit
            from assay.backends.keras import model as _model

        setup.prepare(case)
        with setup.open_devices(case) as devices:
            if devices:
                engine.share_devices(devices)
            model = _model.KerasModel(build, case, setup.facts)
            if case.options["method"] == "fit":
                yield fit.FitSession(model)
            else:
                session = engine.open_session(model)
                if model.job.first is not None:
                    alone = msgspec.structs.replace(model.job, model=model.job.first)
                    first = _model.KerasModel(lambda: alone, case, setup.facts)
                    session.generates(engine.open_session(first))
                yield session

    def profile(self, folder: Path) -> AbstractContextManager[profilers.Mark]:
        return profilers.PROFILERS[self.engine](folder)


# Keras' default: jit_compile="auto" means XLA on JAX and TensorFlow, and nothing on PyTorch.
PROVIDES = {
    "keras-jax": KerasBackend("jax", "on"),
    "keras-tensorflow": KerasBackend(
        "tensorflow",
        "on",
        lambda case: _options.channels_first_refusal(case) or data_parallel.compiler_refusal(case),
        # XLA is slower at convolutions on a CPU than TensorFlow's own kernels, VGG16 four times
        unhurried={"compiler": "off"},
    ),
    "keras-torch": KerasBackend("torch", "off", data_parallel.keras_torch_refusal),
}
