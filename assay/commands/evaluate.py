"""Accuracy: cases evaluated on real data, in fresh workers, and kept as results like any other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from assay.cli.command import Keywords, click_command
from assay.cli.finish import show_when_done, status
from assay.cli.options import print_message
from assay.cli.progress import ProgressLine
from assay.core.case_text import CaseLike
from assay.core.errors import UsageError
from assay.core.options import (
    Argument,
    BackendOptions,
    Backends,
    Flag,
    Format,
    Label,
    Params,
    Seconds,
    StoreUrl,
    Tags,
    Trust,
    accept_old_keywords,
)
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import Evaluation, Plan, Procedure, Result
from assay.core.settings import Home
from assay.core.units import as_seconds
from assay.measure import plan
from assay.measure.inputs import Axes
from assay.measure.machine.environment import safe_tags
from assay.measure.plan import prepare_for_evaluation
from assay.measure.recorder import resume_cases, run_cases
from assay.measure.run_results import RunResults


@accept_old_keywords(home="store")
def evaluate(
    *cases: CaseLike,
    weights: Annotated[
        str | Path,
        Flag(
            "Weights: .npz, .keras, .weights.h5, .h5 or a folder of .bin; default: those of the "
            "data.",
            "FILE",
        ),
    ] = "",
    split: Annotated[str, Flag("Images to evaluate on: test or tune.")] = "test",
    first: Annotated[int, Flag("Evaluate only the first N images.", "N")] = 0,
    expected: Annotated[
        float, Flag("Fail unless this accuracy is reached.", "%", flags="--expect")
    ] = 0.0,
    tolerance: Annotated[
        float, Flag("Allowed difference from the expected accuracy.", "POINTS")
    ] = 0.05,
    backends: Backends = (),
    params: Params = None,
    options: BackendOptions = None,
    timeout: Annotated[Seconds, Flag("Limit for one case.")] = "1h",
    trust: Trust = False,
    label: Label = "",
    tags: Tags = None,
    store: StoreUrl = None,
    progress: ProgressCallback = ignore,
) -> RunResults:
    """How often each case is right; each result is kept, then yielded.

    Without `weights`, those beside the data are taken. `expected` must come out within the
    tolerance; without it, at least what the workload is known for. `trust` lets a `.pt2` file run
    code.

    >>> for result in assay.evaluate("lenet@torch", first=500):
    ...     print(result.case.key, assay.summarize(result).quantities["accuracy"])
    """
    evaluation = make_evaluation_plan(
        *cases,
        weights=weights,
        split=split,
        first=first,
        expected=expected,
        tolerance=tolerance,
        backends=backends,
        params=params,
        options=options,
        timeout=timeout,
        trust=trust,
        label=label,
        tags=tags,
    )
    return RunResults(run_cases(evaluation, store, progress))


def make_evaluation_plan(
    *cases: CaseLike,
    weights: str | Path = "",
    split: str = "test",
    first: int = 0,
    expected: float = 0.0,
    tolerance: float = Evaluation().tolerance,
    backends: str | Sequence[str] = (),
    params: Axes | None = None,
    options: Axes | None = None,
    timeout: float | str = 3600.0,
    trust: bool = False,
    label: str = "",
    tags: Mapping[str, str] | None = None,
) -> Plan:
    """What `evaluate` is going to evaluate, checked."""
    each = [part for case in cases for part in _split_backends(case)]
    expanded = plan.expand_cases(each, backends, params, options, trust)
    return Plan(
        cases=prepare_for_evaluation(expanded, _named_options(cases, options), str(weights)),
        procedure=Procedure(timeout=as_seconds(timeout, "timeout", "1h")),
        evaluation=Evaluation(split=split, first=first, expected=expected, tolerance=tolerance),
        label=label,
        tags=safe_tags(dict(tags or {})),
        verb="evaluate",
    )


def resume(run: str, home: Home = None, progress: ProgressCallback = ignore) -> Iterator[Result]:
    """Evaluate what an interrupted evaluation still lacks, into the same run."""
    return (reading.result for reading in resume_cases(run, "evaluate", home, progress))


def _named_options(cases: Sequence[CaseLike], options: Axes | None) -> set[str]:
    """Options that the user chose, for any of the cases."""
    parsed = [plan.as_case(case) for case in cases]
    return {*(options or {}), *(name for case in parsed for name in case.options)}


def _split_backends(case: CaseLike) -> Iterator[CaseLike]:
    """`NAME@A,B` is two cases, where the backends have no options."""
    if not isinstance(case, str):
        yield case
        return
    name, at, backends = case.rpartition("@")
    if at and ":" not in backends and "'" not in backends:
        yield from (f"{name}@{backend}" for backend in backends.split(","))
    else:
        yield case


@click_command(
    evaluate,
    epilog="""\b
Examples:
  assay evaluate lenet@keras-tensorflow
  assay evaluate vgg16-cifar10@keras-torch,torch --weights vgg16.npz --split tune
  assay evaluate resnet18-cifar10 --first 500 --format json
  assay evaluate alexnet2@torch --expect 85.26 --tolerance 0.05
  assay evaluate lenet@torch --set data=model_params
  assay evaluate --resume last""",
)
def command(
    cases: Annotated[tuple[str, ...], Argument("NAME[@BACKEND,…]…", complete="cases")],
    keywords: Keywords,
    *,
    batch_size: Annotated[str, Flag("Images per batch.", "N")] = "",
    params: dict[str, list[str]],
    resume: Annotated[
        str, Flag("Continue an interrupted evaluation.", "RUN", complete="runs")
    ] = "",
    store: str | None,
    format: Format = "text",
) -> int:
    """Evaluate trained networks on real images, and keep the results.

    Without a backend, every installed one is used. The exit status is 1 if an accuracy is below the
    one that HPVM published, or differs from --expect.
    """
    if bool(cases) == bool(resume):
        raise UsageError(
            "evaluate takes cases, or --resume with a run, and one of the two.",
            hint="Try: assay evaluate lenet@keras-tensorflow",
        )
    line = ProgressLine()
    if batch_size:
        params.setdefault("batch_size", [batch_size])
    results = (
        resume_cases(resume, "evaluate", store, line)
        if resume
        else evaluate(*cases, **keywords, progress=line).stream
    )
    if left_out := plan.describe_left_out(cases, keywords["backends"], "infer"):
        print_message(f"note: {left_out}")
    with show_when_done(line, "evaluate", store, format) as readings:
        for reading in results:
            line.done(reading.result)
            readings.append(reading)
    return status(readings)
