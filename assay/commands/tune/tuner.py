"""A tuning from its first picture to its last: what is measured, in which order."""

from __future__ import annotations

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
from assay.core.progress import Progress, ProgressCallback
from assay.core.records import Case
from assay.measure.compiler.capture import captured
from assay.measure.compiler.splits import pictures
from assay.native import files, reference
from assay.native.build import tools_digest
from assay.native.graph import Array, Graph
from assay.native.knobs.apply import Calibration
from assay.native.knobs.table import BASELINE, KNOBS
from assay.native.passes.pipeline import optimized
from assay.native.passes.transposes import take_channels_first
from assay.native.toolchain import Toolchain, toolchain
from assay.native.tuner import checks, layer_times, validate
from assay.native.tuner.candidates import KnobbedLayer, byte_costs, candidates
from assay.native.tuner.interactions import Choice
from assay.native.tuner.records import Labelled, LayerTrial, TunedPoint, TunePictures, Tuning
from assay.native.tuner.search import Cast, KnobTrial, Tune, TunedLayer
from assay.native.tuner.sensitivity import Effects, EffectsProgram, pictures_there_is_time_for
from assay.native.tuner.state import TuningState
from assay.native.tuner.validate import FrontProgram, PointFacts, Timed

REFINEMENTS = 2  # rounds of whole choices that predictions are refined by
Tried = dict[str, tuple[KnobbedLayer, ...]]


class TunedModel(NamedTuple):
    """What was found, the model as it was captured, and what is left to be cleaned up."""

    tuning: Tuning
    captured: Graph
    calibration: Array  # the items that ranges were found from
    state: TuningState


class PreparedTuning(NamedTuple):
    """What is known before whole networks are measured."""

    captured: Graph
    graph: Graph
    pictures: TunePictures
    calibration: Calibration
    times: layer_times.Times
    tried: Tried
    tune: Tune
    state: TuningState


def tuned_model(
    request: TuneRequest,
    model: Any,
    resume: bool,
    progress: ProgressCallback,
) -> TunedModel:
    request.check_possible()
    tools = toolchain(request.kernels)  # what is lacking is told before a model is built
    stages = Stages(request.model, request.budget, progress)
    return Tuner(request, tools, stages).run(model, resume)


class Tuner:
    """One tuning: stages one after the other, each told of as it goes."""

    def __init__(self, request: TuneRequest, tools: Toolchain, stages: Stages) -> None:
        self.request, self.tools, self.stages = request, tools, stages
        self._threads = len(os.sched_getaffinity(0))

    def run(self, given: Any, resume: bool) -> TunedModel:
        with tempfile.TemporaryDirectory(prefix="assay-tune-") as folder:
            held = self.prepared(given, resume, Path(folder))
            points = self._confirmed(held, Path(folder))
        items = held.pictures.calibration
        return TunedModel(self._tuning(points, held), held.captured, items, held.state)

    def prepared(self, given: Any, resume: bool, folder: Path) -> PreparedTuning:
        """All that a search looks at; `folder` is for what is built."""
        request = self.request
        with self.stages.during("capture"):
            params = request.own_params() if isinstance(given, str) else request.params
            model = captured(given, request.weights, params).graph
            checks.check_classifies(model)
            held = pictures(request.model, request.data, model, request.max_loss, request.seed)
            graph = take_channels_first(optimized(model))
            state = TuningState(Path(request.output), self._about(model, held), resume)
        with self.stages.during("calibrate"):
            calibration = Calibration(reference.computed(graph, held.calibration))
        times, casts = self._times(graph, calibration, state, folder)
        costs = byte_costs(graph, times, calibration) if request.objective == "memory" else times
        tried = candidates(graph, costs, calibration)
        found = self._effects(graph, tried, held.choosing, state, folder)
        timed = casts if costs is times else ()
        tune = _searchable(costs, tried, found, held.choosing, timed)
        ready = PreparedTuning(model, graph, held, calibration, times, tried, tune, state)
        return ready._replace(tune=self._refined(ready, folder))

    def _about(self, model: Graph, held: TunePictures) -> dict[str, str]:
        """What an interrupted tuning has to be gone on with."""
        request = self.request
        return {
            "model": files.digest(model)[:16],
            "data": str([round(float(each.inputs.mean()), 6) for each in held[1:]]),
            "loss": f"{request.max_loss:g}",
            "budget": f"{request.budget:g}",
            "objective": request.objective,
            "batch": str(request.batch),
            "seed": str(request.seed),
            "compiler": tools_digest(self.tools)[:16],
        }

    def _times(
        self, graph: Graph, calibration: Calibration, state: TuningState, folder: Path
    ) -> tuple[layer_times.Times, Sequence[Cast]]:
        """Of each layer and knob, and of what has to be cast between two layers."""
        with self.stages.during("times"):
            program = layer_times.TimingProgram(graph, calibration, self.tools, _fresh(folder))
            told = partial(self.stages.counted, "times", "time of each knob")
            found = layer_times.times(program, self.request.batch, state, told)
            cast = state.numbers("casts", partial(program.cast_seconds, self.request.batch))
        each = cast["seconds"] / cast["numbers"] if cast["numbers"] else 0.0
        places = {name: place for place, name in enumerate(found)}
        linked = layer_times.links(graph)
        return found, [Cast(places[a], places[b], size * each) for a, b, size in linked]

    def _effects(
        self, graph: Graph, tried: Tried, choosing: Labelled, state: TuningState, folder: Path
    ) -> Effects:
        """On as many pictures as there is time for."""
        with self.stages.during("effects"):
            if not any(tried.values()):
                return Effects(np.zeros((1, 2), np.float32), {})  # there is nothing to lose
            most = pictures_there_is_time_for(graph, tried, self.request.budget, self._threads)
            some = choosing.inputs[:most]
            program = EffectsProgram(graph, tried, self.tools, _fresh(folder))
            told = partial(self.stages.counted, "effects", "loss of each knob")
            found = program.measured(some, state, self._threads, told)
            checks.check_trained(self.request.model, found.exact, choosing.labels[:most])
            return found

    def _refined(self, held: PreparedTuning, folder: Path) -> Tune:
        """Knowing what some choices really do, and then those that are best by what is known."""
        tune, items = held.tune, held.pictures.choosing.inputs[: len(held.tune.outputs)]
        with self.stages.during("refine"):
            for number in range(REFINEMENTS):
                choices = validate.to_refine(tune, self.request.max_loss)
                if not choices:
                    break
                program = FrontProgram(
                    held.graph,
                    [knobs_of(tune, each) for each in choices],
                    held.calibration,
                    self.tools,
                    _fresh(folder),
                )
                found = program.outputs(f"whole{number}", items, held.state, self._threads)
                tune = tune.refined(dict(zip(choices, found, strict=True)))
        return tune

    def _confirmed(self, held: PreparedTuning, folder: Path) -> tuple[TunedPoint, ...]:
        chosen = validate.to_confirm(held.tune, self.request.max_loss)
        with self.stages.during("confirm"):
            choices = [knobs_of(held.tune, one.choice) for one in chosen]
            program = FrontProgram(
                held.graph, choices, held.calibration, self.tools, _fresh(folder)
            )
            outputs = {}
            for number, name in enumerate(("choosing", "confirming", "test")):
                most = len(held.tune.outputs) if name == "choosing" else None
                items = getattr(held.pictures, name).inputs[:most]
                outputs[name] = list(program.outputs(name, items, held.state, self._threads))
                said = f"{len(choices)} points on {name} pictures"
                self.stages.told("confirm", (number + 1) / 8, said)
            took = self._timed(program, held)
            foretold = [held.tune.foretold(one.choice).points for one in chosen]
            facts = [
                PointFacts(knobs, points, *(outputs[name][place] for name in outputs))
                for place, (knobs, points) in enumerate(zip(choices, foretold, strict=True))
            ]
            return validate.points(
                facts, held.pictures, took, program.memory, self.request.max_loss
            )

    def _timed(self, program: FrontProgram, held: PreparedTuning) -> Timed:
        """In rounds, until it is known well enough or the budget is spent."""
        request = self.request
        guess = sum(took[BASELINE] for took in held.times.values())

        def more(rounds: int) -> bool:
            share = 0.4 + 0.6 * rounds / validate.ROUNDS
            self.stages.told(
                "confirm", share, f"speed of {len(program.memory)} points, round {rounds}"
            )
            return not self.stages.out_of_time

        return validate.timed(
            program,
            held.pictures.confirming.inputs,
            request.batch,
            guess,
            request.seed,
            held.state,
            MonitorEnergyMeter(),
            more,
        )

    def _tuning(self, points: tuple[TunedPoint, ...], held: PreparedTuning) -> Tuning:
        request = self.request
        best = validate.best_of(points, request.objective)
        promise = checks.promise_note(points, best, request.max_loss)
        emulated = checks.emulated_note(held.times)
        return Tuning(
            model=request.model,
            objective=request.objective,
            max_loss=request.max_loss,
            seed=request.seed,
            batch=request.batch,
            points=points,
            chosen=best.name,
            pictures=held.pictures.counts,
            seconds=self.stages.spent,
            stages=self.stages.took,
            layers=tuple(
                LayerTrial(layer=n, seconds=took, tried=tuple(one.knob for one in held.tried[n]))
                for n, took in held.times.items()
            ),
            notes=tuple(filter(None, (promise, checks.prediction_note(points), emulated))),
        )


def _searchable(
    costs: layer_times.Times,
    tried: Tried,
    found: Effects,
    choosing: Labelled,
    casts: Sequence[Cast],
) -> Tune:
    none = np.zeros_like(found.exact)
    layers = []
    for name, took in costs.items():
        trials = [KnobTrial(BASELINE, took[BASELINE], none)]
        trials += [
            KnobTrial(
                made.knob, took[made.knob], found.moved[name, made.knob], KNOBS[made.knob].int8
            )
            for made in tried[name]
        ]
        layers.append(TunedLayer(name, tuple(trials)))
    return Tune(layers, found.exact, choosing.labels[: len(found.exact)], casts)


def knobs_of(tune: Tune, choice: Choice) -> dict[str, int]:
    places = zip(tune.layers, choice, strict=True)
    return {layer.name: layer.tried[place].knob for layer, place in places}


def _fresh(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=folder))


# Of the whole time, about.
SHARES = {
    "capture": 0.08,
    "calibrate": 0.04,
    "times": 0.25,
    "effects": 0.28,
    "refine": 0.05,
    "confirm": 0.3,
}
FIRST = 0.05  # of the whole: before that much is done, no guess of the rest is made


class Stages:
    def __init__(self, model: str, budget: float, progress: ProgressCallback) -> None:
        self._case, self._budget = Case(workload=model, backend="native"), budget
        self._progress, self._begun = progress, time.monotonic()
        self.took: dict[str, float] = {}

    @property
    def spent(self) -> float:
        return time.monotonic() - self._begun

    @property
    def out_of_time(self) -> bool:
        return self.spent > self._budget

    @contextmanager
    def during(self, stage: str) -> Iterator[None]:
        self.told(stage, 0.0, stage)
        before = self.spent
        yield
        self.took[stage] = round(self.spent - before, 3)

    def counted(self, stage: str, what: str, done: int, count: int) -> None:
        self.told(stage, done / count, f"{what}, {done} of {count}")

    def told(self, stage: str, share: float, what: str) -> None:
        """So much of a stage is done."""
        names = list(SHARES)
        done = sum(SHARES[name] for name in names[: names.index(stage)]) + share * SHARES[stage]
        if done > FIRST:
            left = self.spent / done - self.spent
            what = f"{what}, about {max(1, round(left))} s left"
        self._progress(Progress(case=self._case, phase="steady", note=what))
