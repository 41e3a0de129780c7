"""What a plan requests of a case's worker beside its speed: to evaluate, train or profile it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from assay.core import registry
from assay.core.contracts import Evaluable, ProfilingBackend
from assay.core.errors import AssayError, UsageError
from assay.core.messages import Evaluate, LateFacts, ProfileSteps, Train
from assay.core.progress import Progress, ProgressCallback
from assay.core.protobuf import DamagedError
from assay.core.records import Case, Evaluation, Plan, Samples, Value, arguments
from assay.formats.traces import read as traces
from assay.formats.traces.communication import shares
from assay.measure import sampling
from assay.measure.process_env import home_of
from assay.measure.sampling import TRACE, Conduct, Pieces, Worker

# In the case's folder.
PREDICTIONS = "predictions.npy"  # the class of every example
WEIGHTS, CHECKPOINT = "weights.npz", "checkpoint.npz"


class SpecialRequest(msgspec.Struct, frozen=True, kw_only=True):
    """How the worker of one case is conducted; by default its speed is measured."""

    conduct: Conduct | None = None
    lacking: str = ""  # what it needs and is not here, in words
    facts: dict[str, Value] = {}


def check(plan: Plan, home: Path) -> None:
    """What can be refused before a run begins."""
    if plan.evaluation:
        for case in plan.cases:
            _lacking(case, plan.evaluation, home)


def request(plan: Plan, case: Case, folder: Path, progress: ProgressCallback) -> SpecialRequest:
    if plan.verb == "profile":
        return _profiled(plan, case, folder, progress)
    return _evaluated(plan, case, folder, progress) if plan.evaluation else SpecialRequest()


def _profiled(plan: Plan, case: Case, folder: Path, progress: ProgressCallback) -> SpecialRequest:
    trace, steps = str(folder.absolute() / TRACE), plan.procedure.samples
    return SpecialRequest(
        conduct=lambda worker: sampling.profiled(worker, case, trace, steps, progress),
        facts={"profiled": True},
    )


def _evaluated(plan: Plan, case: Case, folder: Path, progress: ProgressCallback) -> SpecialRequest:
    evaluation = plan.evaluation or Evaluation()
    file = str((folder / PREDICTIONS).absolute())
    order = Evaluate(split=evaluation.split, first=evaluation.first, file=file)
    train = _train(plan, folder.absolute())
    return SpecialRequest(
        conduct=lambda worker: sampling.evaluated(worker, case, order, progress, train),
        lacking=_lacking(case, evaluation, home_of(folder) or folder.parents[2]),
        facts={"split": order.split, **_expectation(case, evaluation), **_training_facts(plan)},
    )


def _train(plan: Plan, folder: Path) -> Train | None:
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


def _lacking(case: Case, evaluation: Evaluation, home: Path) -> str:
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
UNTOLD = "communication"  # the fact that says why there is none


def measured(worker: Worker, case: Case, folder: Path, progress: ProgressCallback) -> Pieces:
    """The share of each step, in percent; the trace stays in the folder."""
    if int(case.options.get("devices", 1)) == 1:
        return
    if not isinstance(registry.backend(case.backend), ProfilingBackend):
        yield LateFacts(facts={UNTOLD: f"unknown: {case.backend} has no profiler"})
        return
    progress(Progress(case=case, phase="steady", note="profiling …"))
    list(worker.ask(ProfileSteps(folder=str(folder.absolute()), steps=STEPS)))
    try:
        found = shares(traces.events(folder))
    except DamagedError as error:
        yield LateFacts(facts={UNTOLD: f"unknown: the trace cannot be read ({error})"})
        return
    if not found:
        yield LateFacts(facts={UNTOLD: "unknown: the trace names no collective operation"})
        return
    values = tuple(100 * share for share in found)
    yield Samples(metric=METRIC, unit="%", phase="steady", values=values)
