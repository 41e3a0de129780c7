"""Accuracy: cases evaluated on real data, in fresh workers, and kept as results like any other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from assay import environment, launch, plan, registry, schedule, training
from assay.contracts import Evaluable
from assay.errors import AssayError, UsageError
from assay.protocol import Evaluate
from assay.records import Case, Evaluation, Plan, Procedure, Result, Value
from assay.workloads import suites
from assay.workloads.accuracy import TRAINED

PREDICTIONS = "predictions.npy"  # in the case's folder: the class of every example


class Special(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a worker instead of its speed; nothing of it by default."""

    conduct: launch.Conduct | None = None
    lacking: str = ""
    facts: dict[str, Value] = {}


def evaluate(
    *cases: str | Case,
    weights: str | Path = "",
    split: str = "test",
    first: int = 0,
    expected: float = 0.0,
    tolerance: float = Evaluation().tolerance,
    backends: Sequence[str] = (),
    params: plan.Axes | None = None,
    options: plan.Axes | None = None,
    timeout: float = 3600.0,
    label: str = "",
    tags: Mapping[str, str] | None = None,
    home: str | Path | None = None,
    watch: Callable[..., None] | None = None,
) -> Iterator[Result]:
    """How often each case is right; each result is kept, then yielded.

    Without `weights`, those beside the data are taken. `expected` must come out within the
    tolerance; without it, at least what the workload is known for.

    >>> for result in assay.evaluate("lenet@torch", first=500):
    ...     print(result.case.key, assay.summarize(result).quantities["accuracy"])
    """
    from assay import api

    found = plan.cases([one for case in cases for one in _apart(case)], backends, params, options)
    evaluation = Evaluation(split=split, first=first, expected=expected, tolerance=tolerance)
    asked = Plan(
        cases=prepared(found, _named(cases, options), str(weights)),
        procedure=Procedure(timeout=timeout),
        evaluation=evaluation,
        label=label,
        tags=environment.safe_tags(dict(tags or {})),
    )
    return api.measured(asked, home, watch)


def of_suite(suite: str, first: int) -> Evaluation | None:
    """How the cases of a suite are evaluated; None if they are to be timed."""
    if suite in suites.EVALUATED:
        return Evaluation(first=first)
    if first:
        raise UsageError(
            f"The first {first} examples were asked for, but speed is measured on a batch.",
            hint="Use it with --suite accuracy, or assay evaluate.",
        )
    return None


def prepared(
    cases: Sequence[Case], named: Collection[str] = (), weights: str = ""
) -> tuple[Case, ...]:
    """The cases with the weights given, or those beside the data, and with the options that suit
    an evaluation on their backend, but for those `named` by the user."""
    if weights and not Path(weights).expanduser().exists():
        raise UsageError(f"There is no weights file {weights}.", hint="Give its path.")
    chosen = str(Path(weights).expanduser().absolute()) if weights else TRAINED
    return tuple(_prepared(case, named, chosen, bool(weights)) for case in cases)


def check(asked: Plan, home: Path) -> None:
    """What was wrongly asked is said before a run begins."""
    if asked.evaluation:
        for case in asked.cases:
            _lacking(case, asked.evaluation, home)


def special(asked: Plan, case: Case, folder: Path, watch: schedule.Watch) -> Special:
    """What a plan asks of a case besides its speed."""
    evaluation = asked.evaluation
    if evaluation is None:
        return Special()
    order = Evaluate(
        split=evaluation.split,
        first=evaluation.first,
        file=str((folder / PREDICTIONS).absolute()),
    )
    train = training.order(asked, folder)
    return Special(
        conduct=lambda worker: schedule.evaluated(worker, case, order, watch, train),
        lacking=_lacking(case, evaluation, folder.parents[2]),
        facts={"split": order.split, **_expectation(case, evaluation), **training.facts(asked)},
    )


def _prepared(case: Case, named: Collection[str], chosen: str, given: bool) -> Case:
    if given and "weights" not in case.params:
        raise UsageError(
            f"{case.workload} takes no file of weights.", hint="Leave out --weights for it."
        )
    weights = {"weights": chosen} if case.params.get("weights") == "" or given else {}
    suits = getattr(registry.backend(case.backend), "for_evaluation", {})
    options = case.options | {name: suits[name] for name in suits if name not in named}
    return plan.resolve(
        msgspec.structs.replace(case, params=case.params | weights, options=options, key="")
    )


def _named(cases: Sequence[str | Case], options: plan.Axes | None) -> set[str]:
    """Options that the user chose, for any of the cases."""
    parsed = [plan.parse_case(case) if isinstance(case, str) else case for case in cases]
    return {*(options or {}), *(name for case in parsed for name in case.options)}


def _apart(case: str | Case) -> Iterator[str | Case]:
    """`NAME@A,B` is two cases, where the backends have no options."""
    if isinstance(case, Case):
        yield case
        return
    name, at, backends = case.rpartition("@")
    if at and ":" not in backends and "'" not in backends:
        yield from (f"{name}@{backend}" for backend in backends.split(","))
    else:
        yield case


def _lacking(case: Case, evaluation: Evaluation, home: Path) -> str:
    workload = registry.workload(case.workload)
    if not isinstance(workload, Evaluable):
        return ""
    try:
        return workload.lacks(case.params, evaluation, home)
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
