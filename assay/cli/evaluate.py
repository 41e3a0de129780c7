"""assay evaluate: how often a trained network is right."""

from __future__ import annotations

from typing import Any

import click

from assay import evaluating, units
from assay.cli import options
from assay.cli.progress import LiveLine
from assay.cli.run import carried_out, status


@click.command(
    epilog="""\b
Examples:
  assay evaluate lenet@keras-tensorflow
  assay evaluate vgg16-cifar10@keras-torch,torch --weights vgg16.npz --split tune
  assay evaluate resnet18-cifar10 --first 500 --format json
  assay evaluate alexnet2@torch --expect 85.26 --tolerance 0.05
  assay evaluate lenet@torch --set data=model_params"""
)
@click.argument("cases", nargs=-1, required=True, metavar="NAME[@BACKEND,…]…")
@click.option(
    "--weights",
    default="",
    metavar="FILE",
    help=".npz, .keras, .weights.h5, .h5 or a folder of .bin; else weights/NAME.npz of the data.",
)
@click.option("--split", default="test", show_default=True, help="test or tune.")
@click.option("--first", type=int, default=0, metavar="N", help="Pictures of the split; else all.")
@click.option("--batch-size", default="", metavar="N", help="Pictures at a time.")
@click.option("--expect", type=float, default=0.0, metavar="%", help="Accuracy that must come out.")
@click.option(
    "--tolerance", type=float, default=0.05, show_default=True, metavar="POINTS", help="Around it."
)
@click.option("-b", "--backend", "backends", multiple=True, help="May be repeated; commas too.")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Parameters of the net.")
@click.option(
    "--option", "extra", multiple=True, metavar="NAME=VALUE", help="Options of the backend."
)
@click.option("--timeout", default="1h", show_default=True, help="For one case.")
@click.option("--label", default="", help="A name to find the results by.")
@options.tag
@options.home
@options.form
def command(cases: tuple[str, ...], **given: Any) -> int:  # noqa: ANN401 (click's values)
    """Evaluate trained networks on real pictures, and keep the results.

    Without a backend, every installed one is taken. An accuracy below HPVM's table, or away from
    --expect, is a failure: exit status 1.
    """
    line = LiveLine()
    size = {"batch_size": given["batch_size"]} if given["batch_size"] else {}
    params = size | options.pairs(given["sets"], "--set")
    found = evaluating.evaluate(
        *cases,
        weights=given["weights"],
        split=given["split"],
        first=given["first"],
        expected=given["expect"],
        tolerance=given["tolerance"],
        backends=[name for text in given["backends"] for name in options.values(text)],
        params={name: options.values(text) for name, text in params.items()},
        options={
            name: options.values(text)
            for name, text in options.pairs(given["extra"], "--option").items()
        },
        timeout=units.seconds(given["timeout"]),
        label=given["label"],
        tags=options.pairs(given["tags"], "--tag"),
        home=given["home"],
        watch=line,
    )
    return status(carried_out(found, line, given))
