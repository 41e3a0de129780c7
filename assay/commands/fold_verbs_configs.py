"""Configuration files of HPVM: read, checked against a network, explained, sorted, written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from assay.core import registry
from assay.core.contracts import Workload
from assay.core.errors import UsageError
from assay.measure import plan
from assay.measure.compiler.capture import captured
from assay.native.hpvm.config_sets import Gain, check_fit, pareto, remarks
from assay.native.hpvm.configs import ConfigFile, read_configs, write_configs
from assay.native.hpvm.dataflow import Dataflow
from assay.native.hpvm.lowering import dataflow, with_softmax
from assay.workloads.accuracy import AccuracyWorkload


class CheckedConfigs(msgspec.Struct, frozen=True, kw_only=True):
    configs: ConfigFile
    network: str  # they were held against; "": none
    remarks: tuple[str, ...]


def check_configs(path: str | Path, model: Any = "") -> CheckedConfigs:  # noqa: ANN401
    """Read a file of configurations; every line must have the operations of that of `model`, a
    name, a file or a keras.Model, where one is given.

    >>> assay.check_configs("tuner_confs.txt", "alexnet2").remarks
    ()
    """
    configs = read_configs(path)
    if model:
        check_fit(configs, network(model))
    name = str(getattr(model, "name", model))
    return CheckedConfigs(configs=configs, network=name, remarks=remarks(configs))


def sort_configs(path: str | Path, output: str | Path, gain: Gain = "speedup") -> ConfigFile:
    """Write those that lie on the Pareto front, by rising loss, to `output`.

    >>> len(assay.sort_configs("tuner_confs.txt", "pareto_confs.txt").configurations)
    12
    """
    found = pareto(read_configs(path), gain)
    write_configs(found, output)
    return found


def network(model: Any) -> Dataflow:  # noqa: ANN401 (as engine.capture.captured takes it)
    """A model as HPVM has it. Its ten networks end in logits here, and in a softmax there."""
    graph = captured(model).graph
    return dataflow(with_softmax(graph) if _is_one_of_ten(model) else graph)


def _is_one_of_ten(model: Any) -> bool:  # noqa: ANN401
    if not isinstance(model, str):
        return False
    try:
        found: Workload = registry.workload(plan.parse_case(model).workload)
    except UsageError:
        return False
    return isinstance(found, AccuracyWorkload)
