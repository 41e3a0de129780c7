"""assay driver: the AWS benchmark driver's command line, unchanged."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import click

from assay import api, codec, settings, tasking
from assay.cli import options
from assay.cli.ending import heed_signals
from assay.compat import driver
from assay.records import Result
from assay.tasks.task import Task


@click.command(
    epilog="""\b
Example:
  assay driver --task-name resnet50_cifar10_hybrid --num-gpus 0 --framework mxnet --epochs 3"""
)
@click.option("--task-name", required=True, help=f"A section of {driver.TEMPLATE}.")
@click.option("--framework", default="", help="Put before each name in the result.")
@click.option("--metrics-suffix", default="", help="Put behind each name in the result.")
@click.option("--num-gpus", type=int, help="Instead of the section's own.")
@click.option("--epochs", type=int, help="In place of the command's --epochs.")
@click.option("--kvstore", help="In place of the command's --kvstore.")
@click.option("--dtype", help="In place of the command's --dtype.")
@options.home
def command(task_name: str, **given: Any) -> int:  # noqa: ANN401 (click's values)
    """Run a task of task_config_template.cfg here, and write dlbenchmark_result.json.

    The log is TASK.log; it is removed when all went well.
    """
    names = ("num_gpus", "epochs", "kvstore", "dtype")
    overrides = {name: given[name] for name in names if given[name] is not None}
    asked = tasking.task(task_name, driver.TEMPLATE, overrides)
    for note in asked.notes:
        options.say(f"note: {note}")
    heed_signals()
    result = tasking.run_task(asked, home=given["home"])
    folder = settings.home(given["home"]) / "runs" / result.id
    return _finish(asked, result, folder, given)


def _finish(asked: Task, result: Result, folder: Path, given: dict[str, Any]) -> int:
    target = Path(driver.RESULT)
    target.unlink(missing_ok=True)  # an old one would pass for this run's
    if result.facts.get("exit_status") == 0:
        series = api.series_of(sorted(folder.glob("process_info.log")))
        document = driver.document(result, series, given["framework"], given["metrics_suffix"])
        target.write_bytes(codec.encode(document, indent=4) + b"\n")
        click.echo(codec.encode(document, indent=4))
    if result.status == "ok":
        return 0
    log = Path(f"{Path(asked.name).name}.log")
    if (folder / "log.gz").exists():
        with gzip.open(folder / "log.gz") as packed, log.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
    options.say(f"{asked.name}: {result.status}: {result.reason}", f"its log: {log}")
    return 130 if result.status == "interrupted" else 1
