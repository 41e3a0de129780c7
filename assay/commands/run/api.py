"""Cases measured in fresh workers; each result is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assay.core.case_text import CaseLike
from assay.core.errors import UsageError
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import Procedure, Result
from assay.core.settings import Home
from assay.measure import inputs as forms
from assay.measure.from_object import live, of_keywords
from assay.measure.plan import make_plan
from assay.measure.recorder import resume_cases, run_cases
from assay.measure.remote import executor


def run(
    *cases: CaseLike,
    model: Any = None,
    home: Home = None,
    progress: ProgressCallback = ignore,
    on: str = "",
    need: Mapping[str, str] | None = None,
    **given: Any,
) -> Iterator[Result]:
    """Measure every combination of these; each result is kept, then yielded.

    A case is a text, a `Case`, or a function of a file; `model=` is an object, with what `live`
    takes beside it: example, loss, targets. What else can be given is what `planned` takes: suite,
    backends, params, options, trust, label, tags, and the parts of a `Procedure`. `on` is the
    address of a Ray cluster, whose nodes measure, and `need` what a node has to have.

    >>> for result in assay.run("mnist-mlp", backends=["keras-jax"], budget="5s"):
    ...     print(result.case.key, assay.summarize(result).quantities["step_time"])
    """
    forms.check_keywords("assay.run", given, make_plan, Procedure, run, live)
    if on and model is not None:
        raise UsageError(
            "A model that is an object of this session cannot go to a cluster: its file is here.",
            hint="Write a function that builds it into a file that every node has: './net.py:Net'.",
        )
    machines = executor(on, need)
    plan = make_plan(*of_keywords(cases, model, given, home), **given)
    return (reading.result for reading in run_cases(plan, home, progress, machines))


def resume(
    run: str,
    home: Home = None,
    progress: ProgressCallback = ignore,
    on: str = "",
    need: Mapping[str, str] | None = None,
) -> Iterator[Result]:
    """Measure what an interrupted run still lacks, into the same run; here, or on a cluster."""
    machines = executor(on, need)
    return (reading.result for reading in resume_cases(run, "run", home, progress, machines))
