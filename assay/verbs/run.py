"""Cases measured in fresh workers; each result is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.core.progress import ProgressCallback, ignore
from assay.core.records import Plan, Procedure, Result
from assay.core.settings import Home
from assay.engine import given as forms
from assay.engine import plan as planning
from assay.engine.cases import measured, resumed
from assay.engine.given import Axes, CaseLike
from assay.engine.live import live, of_keywords
from assay.machine.environment import safe_tags
from assay.verbs.evaluate import of_suite, prepared
from assay.workloads import suites


def run(
    *cases: CaseLike,
    model: Any = None,  # noqa: ANN401 (an object: see live)
    home: Home = None,
    progress: ProgressCallback = ignore,
    **given: Any,  # noqa: ANN401 (see planned)
) -> Iterator[Result]:
    """Measure every combination of these; each result is kept, then yielded.

    A case is a text, a `Case`, or a function of a file; `model=` is an object, with what `live`
    takes beside it: example, loss, targets. What else can be given is what `planned` takes: suite,
    backends, params, options, label, tags, and the parts of a `Procedure`.

    >>> for result in assay.run("mnist-mlp", backends=["keras-jax"], budget="5s"):
    ...     print(result.case.key, assay.summarize(result).quantities["step_time"])
    """
    forms.check_keywords("assay.run", given, planned, Procedure, run, live)
    plan = planned(*of_keywords(cases, model, given, home), **given)
    return (found.reading.result for found in measured(plan, home, progress))


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
    **parts: Any,  # noqa: ANN401 (of a procedure: budget, target, timeout, …)
) -> Plan:
    """What `run` is going to measure, checked.

    Several values of a parameter or option make a sweep. A suite of accuracies is evaluated
    instead, on the `first` so many examples or on all.
    """
    named = suites.suite(suite) if suite else ()
    found = planning.cases((*named, *cases), backends, params, options)
    evaluation = of_suite(suite, first)
    return Plan(
        cases=prepared(found, options or ()) if evaluation else found,
        procedure=forms.procedure(procedure, parts),
        evaluation=evaluation,
        label=label,
        tags=safe_tags(dict(tags or {})),
        verb="run",
    )


def resume(run: str, home: Home = None, progress: ProgressCallback = ignore) -> Iterator[Result]:
    """Measure what an interrupted run still lacks, into the same run."""
    return (found.reading.result for found in resumed(run, "run", home, progress))
