"""The six networks trained from scratch by their recipes, then tested anew from their files.

    python benchmarks/train_six.py -o results                  # where Keras on JAX has a GPU
    python benchmarks/train_six.py lenet alexnet2 --engine torch --precision float32

Each is trained in a process of its own; its weights are then evaluated in another, in float32. One
line a network is printed as it ends, and all of them as a Markdown table at the end.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import assay
from assay.core.findings import Output, SummarizedResult
from assay.core.progress import Progress
from assay.core.records import Result
from assay.reporting import accuracy
from assay.reporting.output import render
from assay.workloads.models.recipes import RECIPES

# What is large gains most by it; a residual sum without a norm is better kept whole.
PRECISION = {"lenet": "tf32", "alexnet2": "tf32", "resnet18-cifar10": "tf32"}


def main() -> None:
    given = _arguments()
    folder = Path(given.output)
    folder.mkdir(parents=True, exist_ok=True)

    def one(name: str) -> list[SummarizedResult]:
        found = _trained_and_tested(name, given, folder)
        readings = [
            SummarizedResult(result=result, summary=assay.summarize(result)) for result in found
        ]
        print(_markdown(readings[:1]), flush=True)
        return readings

    with ThreadPoolExecutor(given.at_once) as pool:
        readings = list(pool.map(one, given.names or RECIPES))
    table = _markdown([trained for trained, *_ in readings])
    tested = [f"{r[1].result.case.workload}: {_accuracy(r[1])}" for r in readings if len(r) > 1]
    text = f"{table}\n\nTested anew in float32: {'; '.join(tested)}.\n"
    (folder / "trained.md").write_text(text)
    print(text)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(RECIPES))
    parser.add_argument("-o", "--output", default="trained", help="folder for weights and table")
    parser.add_argument("--engine", default="jax", help="jax, tensorflow or torch")
    parser.add_argument("--precision", default="", help="else bfloat16, or tf32 for some")
    parser.add_argument("--epochs", type=int, default=0, help="else each recipe's")
    parser.add_argument("--first", type=int, default=0, help="training pictures; else all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=1, help="networks trained side by side")
    return parser.parse_args()


def _markdown(readings: Sequence[SummarizedResult]) -> str:
    return render(Output(tables=(accuracy.trainings_table(readings),)), "markdown")


def _trained_and_tested(name: str, given: argparse.Namespace, folder: Path) -> Sequence[Result]:
    precision = given.precision or PRECISION.get(name, "bfloat16")
    weights = folder / f"{name}.npz"
    trained = assay.train(
        f"{name}@keras-{given.engine}:precision={precision}",
        epochs=given.epochs,
        first=given.first,
        seed=given.seed,
        save=weights,
        progress=_told,
    )
    if trained.status != "ok":
        print(f"{name}: {trained.status}: {trained.reason}", file=sys.stderr, flush=True)
        return [trained]
    return [trained, *assay.evaluate(f"{name}@keras-{given.engine}", weights=weights)]


def _told(progress: Progress) -> None:
    if progress.note:
        print(f"{progress.case.workload}  {progress.note}", file=sys.stderr, flush=True)


def _accuracy(reading: SummarizedResult) -> str:
    found = reading.summary.quantities.get("accuracy")
    return f"{found.value:.2f} %" if found else reading.result.reason


if __name__ == "__main__":
    main()
