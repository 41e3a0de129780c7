"""Accuracy: cases evaluated on real data, in fresh workers, and kept as results like any other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from assay.cli import complete, options
from assay.cli.finish import show_when_done, status
from assay.cli.progress import LiveLine
from assay.core.case_text import CaseLike
from assay.core.errors import UsageError
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import Evaluation, Plan, Procedure, Result
from assay.core.settings import Home
from assay.core.units import as_seconds
from assay.measure import plan
from assay.measure.inputs import Axes, check_keywords
from assay.measure.machine.environment import safe_tags
from assay.measure.plan import prepared
from assay.measure.recorder import resume_cases, run_cases


def evaluate(
    *cases: CaseLike,
    home: Home = None,
    progress: ProgressCallback = ignore,
    **given: Any,
) -> Iterator[Result]:
    """How often each case is right; each result is kept, then yielded.

    What else can be given is what `planned` takes: weights, split, first, expected, backends, …

    >>> for result in assay.evaluate("lenet@torch", first=500):
    ...     print(result.case.key, assay.summarize(result).quantities["accuracy"])
    """
    check_keywords("assay.evaluate", given, planned, evaluate)
    made = planned(*cases, **given)
    return (reading.result for reading in run_cases(made, home, progress))


def planned(
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
    """What `evaluate` is going to evaluate, checked.

    Without `weights`, those beside the data are taken. `expected` must come out within the
    tolerance; without it, at least what the workload is known for. `trust` lets a `.pt2` file run
    code.
    """
    each = [one for case in cases for one in _apart(case)]
    found = plan.expand_cases(each, backends, params, options, trust)
    return Plan(
        cases=prepared(found, _named(cases, options), str(weights)),
        procedure=Procedure(timeout=as_seconds(timeout, "timeout", "1h")),
        evaluation=Evaluation(split=split, first=first, expected=expected, tolerance=tolerance),
        label=label,
        tags=safe_tags(dict(tags or {})),
        verb="evaluate",
    )


def resume(run: str, home: Home = None, progress: ProgressCallback = ignore) -> Iterator[Result]:
    """Evaluate what an interrupted evaluation still lacks, into the same run."""
    return (reading.result for reading in resume_cases(run, "evaluate", home, progress))


def _named(cases: Sequence[CaseLike], options: Axes | None) -> set[str]:
    """Options that the user chose, for any of the cases."""
    parsed = [plan.as_case(case) for case in cases]
    return {*(options or {}), *(name for case in parsed for name in case.options)}


def _apart(case: CaseLike) -> Iterator[CaseLike]:
    """`NAME@A,B` is two cases, where the backends have no options."""
    if not isinstance(case, str):
        yield case
        return
    name, at, backends = case.rpartition("@")
    if at and ":" not in backends and "'" not in backends:
        yield from (f"{name}@{backend}" for backend in backends.split(","))
    else:
        yield case


@click.command(
    epilog="""\b
Examples:
  assay evaluate lenet@keras-tensorflow
  assay evaluate vgg16-cifar10@keras-torch,torch --weights vgg16.npz --split tune
  assay evaluate resnet18-cifar10 --first 500 --format json
  assay evaluate alexnet2@torch --expect 85.26 --tolerance 0.05
  assay evaluate lenet@torch --set data=model_params
  assay evaluate --resume last"""
)
@click.argument("cases", nargs=-1, metavar="NAME[@BACKEND,…]…", shell_complete=complete.cases)
@click.option(
    "--weights",
    default="",
    metavar="FILE",
    help="Weights: .npz, .keras, .weights.h5, .h5 or a folder of .bin; default: those of the data.",
)
@click.option(
    "--split", default="test", show_default=True, help="Pictures to evaluate on: test or tune."
)
@click.option(
    "--first", type=int, default=0, metavar="N", help="Evaluate only the first N pictures."
)
@click.option("--batch-size", default="", metavar="N", help="Pictures per batch.")
@click.option(
    "--expect", type=float, default=0.0, metavar="%", help="Fail unless this accuracy is reached."
)
@click.option(
    "--tolerance",
    type=float,
    default=0.05,
    show_default=True,
    metavar="POINTS",
    help="Allowed difference from the expected accuracy.",
)
@options.backends
@options.params
@options.backend_options
@options.timeout("1h", "one case")
@options.trust
@options.label
@options.tag
@options.resume("Continue an interrupted evaluation.")
@options.home
@options.form
def command(cases: tuple[str, ...], resume: str | None, **given: Any) -> int:
    """Evaluate trained networks on real pictures, and keep the results.

    Without a backend, every installed one is used. The exit status is 1 if an accuracy is below the
    one that HPVM published, or differs from --expect.
    """
    if bool(cases) == bool(resume):
        raise UsageError(
            "evaluate takes cases, or --resume with a run, and one of the two.",
            hint="Try: assay evaluate lenet@keras-tensorflow",
        )
    line = LiveLine()
    if resume:
        found = resume_cases(resume, "evaluate", given["home"], line)
    else:
        found = run_cases(_planned(cases, given), given["home"], line)
    with show_when_done(line, "evaluate", given) as readings:
        for reading in found:
            line.done(reading.result)
            readings.append(reading)
    return status(readings)


def _planned(cases: tuple[str, ...], given: dict[str, Any]) -> Plan:
    size = {"batch_size": given["batch_size"]} if given["batch_size"] else {}
    params = size | options.pairs(given["sets"], "--set")
    choices = options.pairs(given["extra"], "--option")
    return planned(
        *cases,
        weights=given["weights"],
        expected=given["expect"],
        **{name: given[name] for name in ("split", "first", "tolerance")},
        backends=options.several(given["backends"]),
        params=options.axes(params),
        options=options.axes(choices),
        timeout=given["timeout"],
        trust=given["trust"],
        label=given["label"],
        tags=options.pairs(given["tags"], "--tag"),
    )
