"""Configuration files of HPVM: read, checked against a network, explained, sorted, written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import click
import msgspec

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.core import registry
from assay.core.case_text import parse_case
from assay.core.contracts import Workload
from assay.core.errors import UsageError, unknown_name_error
from assay.core.findings import Output, Table
from assay.core.options import Argument, Flag, Format
from assay.core.records import SCHEMA
from assay.core.units import as_choice
from assay.measure.compiler.capture import capture_model
from assay.native.hpvm.config_sets import Gain, check_fit, describe_line, pareto, remarks, summary
from assay.native.hpvm.configs import ConfigFile, Configuration, read_configs, write_configs
from assay.native.hpvm.dataflow import Dataflow
from assay.native.hpvm.lowering import dataflow, with_softmax
from assay.workloads.accuracy import AccuracyWorkload


class CheckedConfigs(msgspec.Struct, frozen=True, kw_only=True):
    configs: ConfigFile
    network: str  # that they were checked against; "": none
    remarks: tuple[str, ...]


def check_configs(
    path: Annotated[str | Path, Argument("FILE")],
    model: Annotated[Any, Flag("Network that the configurations must match.", "NET")] = "",
) -> CheckedConfigs:
    """Read a file of configurations; with `model` (a name, a file or a keras.Model), its operations
    must match every line.

    >>> assay.check_configs("tuner_confs.txt", "alexnet2").remarks
    ()
    """
    configs = read_configs(path)
    if model:
        check_fit(configs, network(model))
    name = str(getattr(model, "name", model))
    return CheckedConfigs(configs=configs, network=name, remarks=remarks(configs))


def sort_configs(
    path: Annotated[str | Path, Argument("FILE")],
    output: Annotated[
        str | Path, Flag("File to write.", "FILE", flags="-o --output", required=True)
    ],
    gain: Annotated[
        Gain, Flag("Objective of the Pareto front: speedup, energy, …", flags="--by")
    ] = "speedup",
) -> ConfigFile:
    """Write those that lie on the Pareto front, by rising loss, to `output`.

    >>> len(assay.sort_configs("tuner_confs.txt", "pareto_confs.txt").configurations)
    12
    """
    gain = as_choice(gain, "gain", get_args(Gain))
    configs = pareto(read_configs(path), gain)
    write_configs(configs, output)
    return configs


def network(model: Any) -> Dataflow:
    """A model as HPVM's dataflow graph; the ten networks end in logits here, in a softmax there."""
    graph = capture_model(model).graph
    return dataflow(with_softmax(graph) if _is_one_of_ten(model) else graph)


def _is_one_of_ten(model: Any) -> bool:
    if not isinstance(model, str):
        return False
    try:
        workload: Workload = registry.workload(parse_case(model).workload)
    except UsageError:
        return False
    return isinstance(workload, AccuracyWorkload)


@click.group(
    epilog="""\b
Examples:
  assay configs check tuner_confs.txt --model alexnet2
  assay configs show tuner_confs.txt conf7
  assay configs sort tuner_confs.txt -o pareto_confs.txt"""
)
def command() -> None:
    """Check, explain or sort files of configurations: what HPVM's tuner writes."""


@click_command(check_configs, group=command, name="check")
def check(path: str, model: str, keywords: Keywords, format: Format = "text") -> int:
    """Read FILE and list its configurations; errors are reported with their line.

    \b
    Example:
      assay configs check tuner_confs.txt --model alexnet2
    """
    checked = check_configs(**keywords)
    printing.show(list_configurations(checked.configs, checked.remarks), format)
    lines = f", each of the lines of {model}" if model else ""
    count = len(checked.configs.configurations)
    options.print_message(f"{path}: {count} configuration{'s' * (count > 1)}{lines}")
    return 0


@click_command(group=command, name="show")
def show(
    file: Annotated[str, Argument("FILE")],
    name: Annotated[str, Argument("CONFIGURATION")],
    format: Format = "text",
) -> int:
    """Explain a configuration of FILE line by line.

    \b
    Example:
      assay configs show tuner_confs.txt conf7
    """
    configurations = {each.name: each for each in read_configs(file).configurations}
    if name not in configurations:
        raise unknown_name_error("configuration", name, configurations)
    printing.show(describe_configuration(configurations[name]), format)
    return 0


@click_command(sort_configs, group=command, name="sort")
def sort(output: str, keywords: Keywords, format: Format = "text") -> int:
    """Write the configurations of FILE that lie on the Pareto front, by rising loss.

    \b
    Example:
      assay configs sort tuner_confs.txt --by energy -o pareto_confs.txt
    """
    printing.show(list_configurations(sort_configs(**keywords)), format)
    options.print_message(f"written: {output}")
    return 0


def list_configurations(configs: ConfigFile, notes: Sequence[str] = ()) -> Output:
    columns = ("configuration", "speedup", "energy", "accuracy", "loss", "lines", "knobs")
    rows = tuple(
        (
            each.name,
            *(f"{number:.4g}" for number in (each.speedup, each.energy)),
            *(f"{number:.6g}" for number in (each.accuracy, each.loss)),
            str(len(each.lines)),
            summary(each),
        )
        for each in configs.configurations
    )
    table = Table(columns=columns, rows=rows, numeric=frozenset(columns[1:6]), notes=tuple(notes))
    document = {
        "schema": SCHEMA,
        "kind": "configs",
        "baseline_seconds": configs.baseline,
        "configurations": [_plain(each) for each in configs.configurations],
        "notes": list(notes),
    }
    return Output(tables=(table,), document=document, values=table)


def describe_configuration(configuration: Configuration) -> Output:
    rows = tuple(
        (str(each.number), each.device, describe_line(each)) for each in configuration.lines
    )
    table = Table(
        columns=("line", "device", "what is done"), rows=rows, numeric=frozenset({"line"})
    )
    document = {"schema": SCHEMA, "kind": "configuration", **_plain(configuration)}
    return Output(tables=(table,), document=document, values=table)


def _plain(each: Configuration) -> dict[str, object]:
    lines = [
        {
            "number": line.number,
            "device": line.device,
            "choices": [{"op": c.op, "knob": c.kind, "id": c.knob} for c in line.choices],
        }
        for line in each.lines
    ]
    numbers = {name: getattr(each, name) for name in ("speedup", "energy", "accuracy", "loss")}
    return {"name": each.name, **numbers, "lines": lines}
