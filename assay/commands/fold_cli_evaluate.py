"""assay evaluate: how often a trained network is right."""

from __future__ import annotations

from typing import Any

import click

from assay.cli import complete, options
from assay.cli.finish import carried_out, status
from assay.cli.progress import LiveLine
from assay.commands.evaluate import planned
from assay.core.errors import UsageError
from assay.core.records import Plan
from assay.measure.fold_engine_cases import measured, resumed


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
def command(cases: tuple[str, ...], resume: str | None, **given: Any) -> int:  # noqa: ANN401
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
        found = resumed(resume, "evaluate", given["home"], line)
    else:
        found = measured(_planned(cases, given), given["home"], line)
    return status(carried_out(found, line, "evaluate", given))


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
