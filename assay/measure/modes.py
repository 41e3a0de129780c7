"""Worker modes other than timing: evaluate, train or profile a case."""

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
PREDICTIONS_FILE = "predictions.npy"  # the class of every example
WEIGHTS, CHECKPOINT = "weights.npz", "checkpoint.npz"
# The first steps are not profiled.
PROFILE_WARM_UP = TakeSamples(steps=1, count=5, seconds=CHUNK)


class WorkerMode(NamedTuple):
    """What the worker of a case does; by default it is timed."""

    drive: Callable[[OpenCase], None] | None = None  # in place of warm-up and samples
    missing: str = ""  # what it needs and is not available, for the user
    facts: Mapping[str, Value] = {}


SPEED = WorkerMode()


def check(plan: Plan, home: Path) -> None:
    """Checks before a run begins."""
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
    file = str((folder / PREDICTIONS_FILE).absolute())
    request = Evaluate(split=evaluation.split, first=evaluation.first, file=file)
    training = _train_order(plan, folder.absolute())
    return WorkerMode(
        drive=partial(evaluate, request=request, training=training),
        missing=_missing(case, evaluation, home_of(folder) or folder.parents[2]),
        facts={"split": request.split, **_expectation(case, evaluation), **_training_facts(plan)},
    )


def profile(open_case: OpenCase, steps: ProfileSteps) -> None:
    """First steps, then some under the framework's profiler.

    Their metric has its own name, because a profiler costs time: they must not be compared.
    """
    open_case.start_first_step()
    open_case.first_step()
    if open_case.stepped:
        open_case.request(PROFILE_WARM_UP, "warmup")
    open_case.show("steady")
    for piece in open_case.pieces(steps):
        if isinstance(piece, Samples):
            open_case.add(msgspec.structs.replace(piece, metric=f"profiled_{piece.metric}"))


def evaluate(open_case: OpenCase, request: Evaluate, training: Train | None = None) -> None:
    """Train if requested, then predict every example of a split."""
    if training:
        _train(open_case, training)
    open_case.show("steady")
    open_case.request(request)


def _train(open_case: OpenCase, request: Train) -> None:
    """Add what every epoch reports, and the facts of the trained model."""
    recipe = request.training.recipe
    open_case.show("first", note="training …")
    reports: dict[str, float] = {}
    epoch = 0
    for piece in open_case.pieces(request):
        if isinstance(piece, Samples):
            reports[piece.metric] = piece.values[-1]
            if recipe and piece.metric == "epoch_accuracy":  # the last of an epoch
                epoch += 1
                note = f"epoch {epoch} of {recipe.epochs}  {human(reports['epoch_time'], 's')}"
                note += f"  loss {reports['loss']:.4f}  {reports['epoch_accuracy']:.2f} % right"
                open_case.show("steady", samples=epoch, note=note)
        open_case.add(piece)


def _train_order(plan: Plan, folder: Path) -> Train | None:
    """An interrupted training continues in its run from its last checkpoint."""
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
        return ""  # the data is damaged: the worker reports it


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


# The share of a step that several devices spend in communication: some extra steps under the
# profiler, in the same process, after the samples.

METRIC = "communication_share"
STEPS = 5
UNKNOWN_COMMUNICATION = "communication"  # fact: why there is no such metric


def measure_communication(open_case: OpenCase) -> None:
    """The share of each step, in percent; the trace is left in the folder."""
    case, folder = open_case.case, open_case.folder / TRACE
    if int(case.options.get("devices", 1)) == 1:
        return
    if not isinstance(registry.backend(case.backend), ProfilingBackend):
        open_case.add(
            LateFacts(facts={UNKNOWN_COMMUNICATION: f"unknown: {case.backend} has no profiler"})
        )
        return
    open_case.show("steady", note="profiling …")
    list(open_case.pieces(ProfileSteps(folder=str(folder.absolute()), steps=STEPS)))
    if open_case.status == "ok":
        open_case.add(_communication(folder))


def _communication(folder: Path) -> Samples | LateFacts:
    try:
        step_shares = shares(traces.events(folder))
    except DamagedError as error:
        return LateFacts(
            facts={UNKNOWN_COMMUNICATION: f"unknown: the trace cannot be read ({error})"}
        )
    if not step_shares:
        return LateFacts(
            facts={UNKNOWN_COMMUNICATION: "unknown: the trace names no collective operation"}
        )
    values = tuple(100 * share for share in step_shares)
    return Samples(metric=METRIC, unit="%", phase="steady", values=values)
