"""Cases measured in fresh workers; each result is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from assay.commands.evaluate import of_suite, prepared
from assay.core.errors import UsageError
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import Plan, Procedure, Result
from assay.core.settings import Home
from assay.measure import inputs as forms
from assay.measure import plan as planning
from assay.measure.from_object import live, of_keywords
from assay.measure.inputs import Axes, CaseLike
from assay.measure.machine.environment import safe_tags
from assay.measure.recorder import Measured, measured, resumed
from assay.measure.remote import Elsewhere
from assay.platforms.cluster.address import check_where, machines
from assay.workloads import suites

Work = Callable[[Elsewhere | None], Iterator[Measured]]  # on these machines; None: here


def run(
    *cases: CaseLike,
    model: Any = None,  # noqa: ANN401 (an object: see live)
    home: Home = None,
    progress: ProgressCallback = ignore,
    on: str = "",
    need: Mapping[str, str] | None = None,
    **given: Any,  # noqa: ANN401 (see planned)
) -> Iterator[Result]:
    """Measure every combination of these; each result is kept, then yielded.

    A case is a text, a `Case`, or a function of a file; `model=` is an object, with what `live`
    takes beside it: example, loss, targets. What else can be given is what `planned` takes: suite,
    backends, params, options, trust, label, tags, and the parts of a `Procedure`. `on` is the
    address of a Ray cluster, whose nodes measure, and `need` what a node has to have.

    >>> for result in assay.run("mnist-mlp", backends=["keras-jax"], budget="5s"):
    ...     print(result.case.key, assay.summarize(result).quantities["step_time"])
    """
    forms.check_keywords("assay.run", given, planned, Procedure, run, live)
    if on and model is not None:
        raise UsageError(
            "A model that is an object of this session cannot go to a cluster: its file is here.",
            hint="Write a function that builds it into a file that every node has: './net.py:Net'.",
        )
    plan = planned(*of_keywords(cases, model, given, home), **given)
    return (found.reading.result for found in carried_out(plan, home, progress, on, need))


def carried_out(
    plan: Plan,
    home: Home,
    progress: ProgressCallback,
    on: str = "",
    need: Mapping[str, str] | None = None,
) -> Iterator[Measured]:
    """A plan measured here, or on the nodes of a cluster."""
    return _somewhere(lambda there: measured(plan, home, progress, there), on, need)


def gone_on_with(
    run: str,
    home: Home,
    progress: ProgressCallback,
    on: str = "",
    need: Mapping[str, str] | None = None,
) -> Iterator[Measured]:
    """What an interrupted run lacks, measured here or on a cluster, wherever it was begun."""
    return _somewhere(lambda there: resumed(run, "run", home, progress, there), on, need)


def _somewhere(work: Work, on: str, need: Mapping[str, str] | None) -> Iterator[Measured]:
    """Here, its mistakes are told by the call; of a cluster, once it is reached."""
    check_where(on, need)
    return _on_cluster(work, on, need) if on else work(None)


def _on_cluster(work: Work, on: str, need: Mapping[str, str] | None) -> Iterator[Measured]:
    with machines(on, need) as there:
        yield from work(there)


def planned(
    *cases: CaseLike,
    suite: str = "",
    backends: str | Sequence[str] = (),
    params: Axes | None = None,
    options: Axes | None = None,
    procedure: Procedure | None = None,
    label: str = "",
    tags: Mapping[str, str] | None = None,
    first: int = 0,
    trust: bool = False,
    **parts: Any,  # noqa: ANN401 (of a procedure: budget, target, timeout, …)
) -> Plan:
    """What `run` is going to measure, checked.

    Several values of a parameter or option make a sweep. A suite of accuracies is evaluated
    instead, on the `first` so many examples or on all. `trust` lets a `.pt2` file run code.
    """
    named = suites.suite(suite) if suite else ()
    found = planning.cases((*named, *cases), backends, params, options, trust)
    evaluation = of_suite(suite, first)
    return Plan(
        cases=prepared(found, options or ()) if evaluation else found,
        procedure=forms.procedure(procedure, parts),
        evaluation=evaluation,
        label=label,
        tags=safe_tags(dict(tags or {})),
        verb="run",
    )


def resume(
    run: str,
    home: Home = None,
    progress: ProgressCallback = ignore,
    on: str = "",
    need: Mapping[str, str] | None = None,
) -> Iterator[Result]:
    """Measure what an interrupted run still lacks, into the same run; here, or on a cluster."""
    return (found.reading.result for found in gone_on_with(run, home, progress, on, need))
