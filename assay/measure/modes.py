"""What a plan requests of a case's worker beside its speed: to evaluate, train or profile it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from assay.core import registry
from assay.core.contracts import Evaluable, ProfilingBackend
from assay.core.errors import AssayError, UsageError
from assay.core.messages import Evaluate, LateFacts, ProfileSteps, TakeSamples, Train
from assay.core.protobuf import DamagedError
from assay.core.records import Case, Evaluation, Plan, Samples, Value, arguments
from assay.core.units import human
from assay.formats.traces import read as traces
from assay.formats.traces.communication import shares
from assay.measure.process_env import home_of
from assay.measure.sampling import CHUNK, TRACE

if TYPE_CHECKING:  # it imports this module
    from assay.measure.case import OpenCase

# In the case's folder.
PREDICTIONS = "predictions.npy"  # the class of every example
WEIGHTS, CHECKPOINT = "weights.npz", "checkpoint.npz"
# What is profiled must not be a first step.
BEFORE_PROFILE = TakeSamples(steps=1, count=5, seconds=CHUNK)


class WorkerMode(NamedTuple):
    """What the worker of a case is asked for; by default its speed is measured."""

    drive: Callable[[OpenCase], None] | None = None  # in place of warm-up and samples
    missing: str = ""  # what it needs and is not here, in words
    facts: Mapping[str, Value] = {}


SPEED = WorkerMode()


def check(plan: Plan, home: Path) -> None:
    """What can be refused before a run begins."""
    if plan.evaluation:
        for case in plan.cases:
            _missing(case, plan.evaluation, home)


def mode_of(plan: Plan, case: Case, folder: Path) -> WorkerMode:
    if plan.verb == "profile":
        steps = ProfileSteps(folder=str(folder.absolute() / TRACE), steps=plan.procedure.samples)
        return WorkerMode(drive=partial(profile, steps=steps), facts={"profiled": True})
    return _evaluation_mode(plan, case, folder) if plan.evaluation else SPEED


def _evaluation_mode(plan: Plan, case: Case, folder: Path) -> WorkerMode:
    evaluation = plan.evaluation or Evaluation()
    file = str((folder / PREDICTIONS).absolute())
    order = Evaluate(split=evaluation.split, first=evaluation.first, file=file)
    training = _train_order(plan, folder.absolute())
    return WorkerMode(
        drive=partial(evaluate, order=order, training=training),
        missing=_missing(case, evaluation, home_of(folder) or folder.parents[2]),
        facts={"split": order.split, **_expectation(case, evaluation), **_training_facts(plan)},
    )


def profile(one: OpenCase, steps: ProfileSteps) -> None:
    """First steps, then some under the framework's profiler.

    Their metric has a name of its own, for a profiler costs time: nobody shall compare them.
    """
    one.start_first_step()
    one.first_step()
    if one.stepped:
        one.request(BEFORE_PROFILE, "warmup")
    one.show("steady")
    for piece in one.pieces(steps):
        if isinstance(piece, Samples):
            one.add(msgspec.structs.replace(piece, metric=f"profiled_{piece.metric}"))


def evaluate(one: OpenCase, order: Evaluate, training: Train | None = None) -> None:
    """Train if asked to, then every example of a split."""
    if training:
        _train(one, training)
    one.show("steady")
    one.request(order)


def _train(one: OpenCase, order: Train) -> None:
    """What every epoch reports; then the facts of the trained model."""
    recipe = order.training.recipe
    one.show("first", note="training …")
    reports: dict[str, float] = {}
    epoch = 0
    for piece in one.pieces(order):
        if isinstance(piece, Samples):
            reports[piece.metric] = piece.values[-1]
            if recipe and piece.metric == "epoch_accuracy":  # the last of an epoch
                epoch += 1
                note = f"epoch {epoch} of {recipe.epochs}  {human(reports['epoch_time'], 's')}"
                note += f"  loss {reports['loss']:.4f}  {reports['epoch_accuracy']:.2f} % right"
                one.show("steady", samples=epoch, note=note)
        one.add(piece)


def _train_order(plan: Plan, folder: Path) -> Train | None:
    """A training that was cut short goes on in its run, from its last checkpoint."""
    if plan.training is None:
        return None
    earlier = sorted(folder.parent.glob(f"*/{CHECKPOINT}"))
    return Train(
        training=plan.training,
        weights=str(folder / WEIGHTS),
        checkpoint=str(folder / CHECKPOINT),
        earlier=str(earlier[-1]) if earlier else "",
    )


def _training_facts(plan: Plan) -> dict[str, Value]:
    """What a result says of how it was trained."""
    if plan.training is None:
        return {}
    recipe = plan.training.recipe
    cut = {"cut_short": plan.training.cut} if plan.training.cut else {}
    optimizer = {"optimizer": recipe.optimizer} if recipe else {}  # not the one of timed steps
    return {
        **optimizer,
        "recipe": msgspec.json.encode(recipe).decode() if recipe else "its own",
        "until": plan.training.until,
        "train_first": plan.training.first,
        **cut,
    }


def _missing(case: Case, evaluation: Evaluation, home: Path) -> str:
    workload = registry.workload(case.workload)
    if not isinstance(workload, Evaluable):
        return ""
    try:
        return workload.lacks(arguments(case.params, workload.params), evaluation, home)
    except UsageError:
        raise
    except AssayError:
        return ""  # of data that is damaged: the worker fails over it, in the same words


def _expectation(case: Case, evaluation: Evaluation) -> dict[str, Value]:
    workload = registry.workload(case.workload)
    known = workload.expected if isinstance(workload, Evaluable) else 0.0
    expected = evaluation.expected or known
    if not expected:
        return {}
    rule = "within" if evaluation.expected else "at least"
    return {
        "expected_accuracy": expected,
        "tolerance": evaluation.tolerance,
        "expectation": rule,
    }


# How much of a step several devices spend in communication: some steps more, under the profiler.
#
# After the samples, in the same process; the samples themselves are taken without a profiler.

METRIC = "communication_share"
STEPS = 5
UNKNOWN = "communication"  # the fact that says why there is none


def measure_communication(one: OpenCase) -> None:
    """The share of each step, in percent; the trace stays in the folder."""
    case, folder = one.case, one.folder / TRACE
    if int(case.options.get("devices", 1)) == 1:
        return
    if not isinstance(registry.backend(case.backend), ProfilingBackend):
        one.add(LateFacts(facts={UNKNOWN: f"unknown: {case.backend} has no profiler"}))
        return
    one.show("steady", note="profiling …")
    list(one.pieces(ProfileSteps(folder=str(folder.absolute()), steps=STEPS)))
    if one.status == "ok":
        one.add(_communication(folder))


def _communication(folder: Path) -> Samples | LateFacts:
    try:
        step_shares = shares(traces.events(folder))
    except DamagedError as error:
        return LateFacts(facts={UNKNOWN: f"unknown: the trace cannot be read ({error})"})
    if not step_shares:
        return LateFacts(facts={UNKNOWN: "unknown: the trace names no collective operation"})
    values = tuple(100 * share for share in step_shares)
    return Samples(metric=METRIC, unit="%", phase="steady", values=values)
