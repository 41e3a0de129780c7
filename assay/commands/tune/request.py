"""The request of a tuning, checked before anything is built."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import get_args

import msgspec

from assay.core import registry
from assay.core.case_text import parse_case
from assay.core.errors import NotPossibleError, UsageError
from assay.core.messages import MODEL_FILES
from assay.core.records import Value
from assay.core.units import as_choice, as_seconds
from assay.monitors.energy import EnergyMonitor
from assay.native.toolchain import Kernels
from assay.native.tuner.records import Objective
from assay.workloads.accuracy import TRAINED


class TuneRequest(msgspec.Struct, frozen=True, kw_only=True):
    model: str
    output: str
    weights: str = ""
    params: dict[str, Value] = {}
    data: str = ""
    max_loss: float = 1.0  # points of accuracy
    budget: float = 600.0  # seconds, for all of it
    objective: Objective = "time"
    batch: int = 1
    seed: int = 0
    kernels: Kernels = "auto"
    label: str = ""

    def __post_init__(self) -> None:
        budget = as_seconds(self.budget, "budget", "10m")
        msgspec.structs.force_setattr(self, "budget", budget)
        if not math.isfinite(self.max_loss) or not 0 < self.max_loss < 100:
            raise UsageError(
                f"max_loss is {self.max_loss:g} points, but has to be above 0 and below 100.",
                hint="1.0 allows one image in a hundred to be lost.",
            )
        if self.batch < 1:
            raise UsageError(f"batch is {self.batch}, but has to be 1 or more.", hint="--batch 1")
        as_choice(self.objective, "objective", get_args(Objective))

    def effective_params(self) -> dict[str, Value]:
        """Parameters, with the trained weights of the workload unless weights are given."""
        if self.weights or self.model.endswith((*MODEL_FILES, ".onnx")):
            return self.params
        case = parse_case(self.model)
        workload = registry.workload(case.workload)
        params = {**case.params, **self.params}
        own = "weights" in workload.params and not params.get("weights")
        return {**self.params, **({"weights": TRAINED} if own else {})}

    def check_possible(self) -> None:
        if self.objective == "energy" and (why := MonitorEnergyMeter().missing()):
            raise NotPossibleError(
                f"The objective is energy, which cannot be measured here: {why}.",
                hint="--objective time; what is faster mostly needs less energy too.",
            )


class EnergyReading:
    watts = 0.0  # 0: not measured


class MonitorEnergyMeter:
    def __init__(self) -> None:
        self._monitor = EnergyMonitor()

    def missing(self) -> str:
        return self._monitor.missing()

    @contextmanager
    def measure(self) -> Iterator[EnergyReading]:
        """Power of the whole machine, other programs included."""
        reading = EnergyReading()
        if self.missing():
            yield reading
            return
        before, start = self._joules(), time.monotonic()
        yield reading
        reading.watts = (self._joules() - before) / (time.monotonic() - start)

    def _joules(self) -> float:
        return self._monitor.sample(())["cpu_energy"]
