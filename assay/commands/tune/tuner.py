"""The stages of a tuning: what is measured, in which order."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from assay.commands.tune.request import MonitorEnergyMeter, TuneRequest
from assay.core.budget import OutOfTimeError, hard_limit, interrupt_after
from assay.core.errors import AssayError
from assay.core.progress import Progress, ProgressCallback
from assay.core.records import Case
from assay.core.units import human, plural
from assay.measure.compiler.capture import capture_model
from assay.measure.compiler.splits import images
from assay.native import files, reference
from assay.native.build import tools_digest
from assay.native.graph import Array, Graph
from assay.native.knobs.apply import Calibration
from assay.native.knobs.table import BASELINE, KNOBS
from assay.native.passes.pipeline import optimize
from assay.native.passes.transposes import take_channels_first
from assay.native.toolchain import Toolchain, toolchain
from assay.native.tuner import checks, layer_times, validate
from assay.native.tuner.candidates import KnobbedLayer, byte_costs, candidates
from assay.native.tuner.interactions import Choice
from assay.native.tuner.records import LabelledImages, LayerTrial, TunedPoint, TuneSplits, Tuning
from assay.native.tuner.search import Cast, KnobTrial, Tune, TunedLayer
from assay.native.tuner.sensitivity import Effects, EffectsProgram, image_count_for_budget
from assay.native.tuner.state import TuningState
from assay.native.tuner.validate import FrontProgram, PointOutputs, Timed

REFINEMENTS = 2  # rounds of whole choices that refine the predictions
TriedPoint = dict[str, tuple[KnobbedLayer, ...]]


class TunedModel(NamedTuple):
    """The tuning, the captured model, and the state to clean up."""

    tuning: Tuning
    captured: Graph
    calibration: Array  # the items that int8 ranges come from
    state: TuningState


class PreparedTuning(NamedTuple):
    """Everything that is measured before whole networks are."""

    captured: Graph
    graph: Graph
    splits: TuneSplits
    calibration: Calibration
    times: layer_times.Times
    candidates: TriedPoint
    tune: Tune
    state: TuningState


def load_tuned_model(
    request: TuneRequest,
    model: Any,
    resume: bool,
    progress: ProgressCallback,
) -> TunedModel:
    request.check_possible()
    tools = toolchain(request.kernels)  # fails before a model is built
    stages = Stages(request.model, request.budget, progress)
    return Tuner(request, tools, stages).run(model, resume)


class Tuner:
    """One tuning: its stages in order, with progress."""

    def __init__(self, request: TuneRequest, tools: Toolchain, stages: Stages) -> None:
        self.request, self.tools, self.stages = request, tools, stages
        self._threads = len(os.sched_getaffinity(0))

    def run(self, model: Any, resume: bool) -> TunedModel:
        with (
            tempfile.TemporaryDirectory(prefix="assay-tune-") as folder,
            self.stages.limit(),
        ):
            prepared = self.prepare(model, resume, Path(folder))
            points = self._confirm(prepared, Path(folder))
        items = prepared.splits.calibration
        return TunedModel(
            self._make_tuning(points, prepared), prepared.captured, items, prepared.state
        )

    def prepare(self, source: Any, resume: bool, folder: Path) -> PreparedTuning:
        """Run the stages before confirmation; `folder` is for built programs."""
        request = self.request
        with self.stages.stage("capture"):
            params = request.effective_params() if isinstance(source, str) else request.params
            model = capture_model(source, request.weights, params).graph
            checks.check_classifies(model)
            splits = images(request.model, request.data, model, request.max_loss, request.seed)
            graph = take_channels_first(optimize(model))
            state = TuningState(Path(request.output), self._settings(model, splits), resume)
        with self.stages.stage("calibrate"):
            calibration = Calibration(reference.compute_values(graph, splits.calibration))
        times, casts = self._time_layers(graph, calibration, state, folder)
        costs = byte_costs(graph, times, calibration) if request.objective == "memory" else times
        tried = candidates(graph, costs, calibration)
        effects = self._measure_effects(graph, tried, splits.choosing, state, folder)
        timed = casts if costs is times else ()
        tune = _check_searchable(costs, tried, effects, splits.choosing, timed)
        ready = PreparedTuning(model, graph, splits, calibration, times, tried, tune, state)
        return ready._replace(tune=self._refine(ready, folder))

    def _settings(self, model: Graph, splits: TuneSplits) -> dict[str, str]:
        """What must be equal to continue an interrupted tuning."""
        request = self.request
        return {
            "model": files.digest(model)[:16],
            "data": str([round(float(each.inputs.mean()), 6) for each in splits[1:]]),
            "loss": f"{request.max_loss:g}",
            "objective": request.objective,
            "batch": str(request.batch),
            "seed": str(request.seed),
            "samplings": "corrected",  # an unfinished tuning of before would have no such knobs
            "compiler": tools_digest(self.tools)[:16],
        }

    def _time_layers(
        self, graph: Graph, calibration: Calibration, state: TuningState, folder: Path
    ) -> tuple[layer_times.Times, Sequence[Cast]]:
        """Time of each layer and knob, and of casts between layers."""
        with self.stages.stage("times"):
            program = layer_times.TimingProgram(graph, calibration, self.tools, _new_state(folder))
            report = partial(self.stages.report_count, "times", "time of each knob")
            times = layer_times.times(
                program, self.request.batch, state, report, self.stages.is_on_time
            )
            cast = state.numbers("casts", partial(program.cast_seconds, self.request.batch))
        each = cast["seconds"] / cast["numbers"] if cast["numbers"] else 0.0
        indices = {name: index for index, name in enumerate(times)}
        linked = layer_times.links(graph)
        return times, [Cast(indices[a], indices[b], size * each) for a, b, size in linked]

    def _measure_effects(
        self,
        graph: Graph,
        tried: TriedPoint,
        choosing: LabelledImages,
        state: TuningState,
        folder: Path,
    ) -> Effects:
        """Effect of each knob on as many images as there is time for."""
        with self.stages.stage("effects"):
            if not any(tried.values()):
                return Effects(np.zeros((1, 2), np.float32), {})  # there is nothing to lose
            count = self._image_count(graph, tried, state)
            inputs = choosing.inputs[:count]
            program = EffectsProgram(graph, tried, self.tools, _new_state(folder))
            report = partial(self.stages.report_count, "effects", "loss of each knob")
            effects = program.measure(inputs, state, self._threads, report)
            checks.check_trained(self.request.model, effects.exact, choosing.labels[:count])
            return effects

    def _image_count(self, graph: Graph, tried: TriedPoint, state: TuningState) -> int:
        """As many as before where a tuning is continued, whatever its budget now."""

        def compute() -> dict[str, float]:
            images = image_count_for_budget(graph, tried, self.request.budget, self._threads)
            return {"images": float(images)}

        return int(state.numbers("images", compute)["images"])

    def _refine(self, prepared: PreparedTuning, folder: Path) -> Tune:
        """Refine predictions by measuring some whole choices, then the best predicted ones."""
        tune, items = prepared.tune, prepared.splits.choosing.inputs[: len(prepared.tune.outputs)]
        with self.stages.stage("refine"):
            for number in range(REFINEMENTS):
                choices = validate.choices_to_refine(tune, self.request.max_loss)
                if not choices or not self.stages.is_on_time():
                    break
                program = FrontProgram(
                    prepared.graph,
                    [knobs_of(tune, each) for each in choices],
                    prepared.calibration,
                    self.tools,
                    _new_state(folder),
                )
                outputs = program.outputs(f"whole{number}", items, prepared.state, self._threads)
                tune = tune.refine(dict(zip(choices, outputs, strict=True)))
        return tune

    def _confirm(self, prepared: PreparedTuning, folder: Path) -> tuple[TunedPoint, ...]:
        chosen = validate.points_to_confirm(prepared.tune, self.request.max_loss)
        with self.stages.stage("confirm"):
            choices = [knobs_of(prepared.tune, point.choice) for point in chosen]
            program = FrontProgram(
                prepared.graph, choices, prepared.calibration, self.tools, _new_state(folder)
            )
            outputs = {}
            for number, name in enumerate(("choosing", "confirming", "test")):
                count = len(prepared.tune.outputs) if name == "choosing" else None
                items = getattr(prepared.splits, name).inputs[:count]
                outputs[name] = list(program.outputs(name, items, prepared.state, self._threads))
                note = f"{plural(len(choices), 'point')} on {name} images"
                self.stages.report("confirm", (number + 1) / 8, note)
            times = self._time_points(program, prepared)
            predicted = [prepared.tune.predict_held_out(point.choice).points for point in chosen]
            facts = [
                PointOutputs(knobs, points, *(outputs[name][index] for name in outputs))
                for index, (knobs, points) in enumerate(zip(choices, predicted, strict=True))
            ]
            return validate.points(
                facts, prepared.splits, times, program.memory, self.request.max_loss
            )

    def _time_points(self, program: FrontProgram, prepared: PreparedTuning) -> Timed:
        """Time points in rounds until precise enough or the budget is used up."""
        request = self.request
        guess = sum(took[BASELINE] for took in prepared.times.values())

        def more(rounds: int) -> bool:
            share = 0.4 + 0.6 * rounds / validate.ROUNDS
            self.stages.report(
                "confirm", share, f"speed of {len(program.memory)} points, round {rounds}"
            )
            return not self.stages.out_of_time

        return validate.time_points(
            program,
            prepared.splits.confirming.inputs,
            request.batch,
            guess,
            request.seed,
            prepared.state,
            MonitorEnergyMeter(),
            more,
        )

    def _make_tuning(self, points: tuple[TunedPoint, ...], prepared: PreparedTuning) -> Tuning:
        request = self.request
        best = validate.best_point(points, request.objective)
        promise = checks.promise_note(points, best, request.max_loss)
        emulated = checks.emulated_note(prepared.times)
        return Tuning(
            model=request.model,
            objective=request.objective,
            max_loss=request.max_loss,
            seed=request.seed,
            batch=request.batch,
            points=points,
            chosen=best.name,
            pictures=prepared.splits.counts,
            seconds=self.stages.spent,
            stages=self.stages.took,
            layers=tuple(
                LayerTrial(
                    layer=n,
                    seconds=took,
                    tried=tuple(trial.knob for trial in prepared.candidates[n]),
                )
                for n, took in prepared.times.items()
            ),
            notes=tuple(filter(None, (promise, checks.prediction_note(points), emulated))),
        )


def _check_searchable(
    costs: layer_times.Times,
    tried: TriedPoint,
    effects: Effects,
    choosing: LabelledImages,
    casts: Sequence[Cast],
) -> Tune:
    none = np.zeros_like(effects.exact)
    layers = []
    for name, took in costs.items():
        trials = [KnobTrial(BASELINE, took[BASELINE], none)]
        trials += [
            KnobTrial(
                knobbed.knob,
                took[knobbed.knob],
                effects.deltas[name, knobbed.knob],
                KNOBS[knobbed.knob].int8,
            )
            for knobbed in tried[name]
        ]
        layers.append(TunedLayer(name, tuple(trials)))
    return Tune(layers, effects.exact, choosing.labels[: len(effects.exact)], casts)


def knobs_of(tune: Tune, choice: Choice) -> dict[str, int]:
    pairs = zip(tune.layers, choice, strict=True)
    return {layer.name: layer.tried[index].knob for layer, index in pairs}


def _new_state(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=folder))


# Approximate shares of the total time.
SHARES = {
    "capture": 0.08,
    "calibrate": 0.04,
    "times": 0.25,
    "effects": 0.28,
    "refine": 0.05,
    "confirm": 0.3,
}
FIRST = 0.05  # share done before the remaining time is estimated


class Stages:
    def __init__(self, model: str, budget: float, progress: ProgressCallback) -> None:
        self._case, self._budget = Case(workload=model, backend="native"), budget
        self._progress, self._begun = progress, time.monotonic()
        self.took: dict[str, float] = {}
        self._done = self._expected = 0.0  # share of all stages; seconds that they take

    @property
    def spent(self) -> float:
        return time.monotonic() - self._begun

    @property
    def out_of_time(self) -> bool:
        return self.spent > self._budget

    @contextmanager
    def limit(self) -> Iterator[None]:
        """End with an error what is not done soon after the budget; `state` keeps what was
        measured."""
        try:
            with interrupt_after(hard_limit(self._budget)):
                yield
        except OutOfTimeError:
            raise self._too_short(max(self._expected, 2 * self.spent)) from None

    def is_on_time(self) -> bool:
        """Whether stages are done as early as their shares of the budget allow."""
        return self.spent <= self._done * self._budget

    def _too_short(self, needed: float) -> AssayError:
        seconds = math.ceil(needed / 10) * 10
        return AssayError(
            f"Tuning {self._case.workload} takes about {human(seconds, 's')} here, and its budget "
            f"is {human(self._budget, 's')}.",
            hint=f"What was measured is kept; to go on: --resume --budget {seconds}s",
        )

    @contextmanager
    def stage(self, stage: str) -> Iterator[None]:
        self.report(stage, 0.0, stage)
        before = self.spent
        yield
        self.took[stage] = round(self.spent - before, 3)

    def report_count(self, stage: str, what: str, done: int, count: int) -> None:
        self.report(stage, done / count, f"{what}, {done} of {count}")

    def report(self, stage: str, share: float, what: str) -> None:
        """So much of a stage is done."""
        names = list(SHARES)
        done = sum(SHARES[name] for name in names[: names.index(stage)]) + share * SHARES[stage]
        self._done = done
        if done > FIRST:
            self._expected = self.spent / done
            left = self._expected - self.spent
            what = f"{what}, about {max(1, round(left))} s left"
        self._progress(Progress(case=self._case, phase="steady", note=what))
