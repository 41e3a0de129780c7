"""Rows of keras-benchmarks' BigQuery table: the time of some epochs of one model on one backend."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from assay.core.formats import Content, Format, parse_json
from assay.core.records import Environment, Result
from assay.formats import common

KIND = "keras-benchmarks"
# old name → (workload with parameters, type of samples in the old table)
MODELS = {
    "mnist_mlp": ("mnist-mlp", "images"),
    "cifar10_cnn": ("cifar10-cnn", "images"),
    "lstm": ("lstm", "text"),
    "gru": ("gru", "text"),
    "resnet50": ("resnet50", "images"),
    "resnet50_eager": ("resnet50:style=eager", "images"),
    "resnet50_subclass": ("resnet50:style=subclassed", "images"),
    "vgg16": ("vgg16:batch_size=8", "images"),
    "xception": ("xception", "images"),
}
EPOCHS = 4  # of one fit(); the first builds and compiles, and is skipped
_LIBRARY = {"tensorflow": "tf.keras"}  # as the old table called it there
_KNOWN_FIELDS = (
    "test_name",
    "recorded_time",
    "metrics",
    "keras_backend",
    "keras_version",
    "cpu_info",
)


def matches(content: Content) -> bool:
    rows = _rows(content)
    return bool(rows) and all(_is_row(row) for row in rows)


def read(content: Content) -> Sequence[Result]:
    return [_result(content, row) for row in _rows(content)]


def _rows(content: Content) -> list[Any]:
    """One object, a list, or one object per line as in exports of BigQuery."""
    if isinstance(content.json, list):
        return content.json
    if content.json is not None:
        return [content.json]
    try:
        return [parse_json(line) for line in content.text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return []


def _is_row(row: object) -> bool:
    return isinstance(row, dict) and {"test_name", "metrics", "keras_backend"} <= row.keys()


def _result(content: Content, row: dict[str, Any]) -> Result:
    metrics = common.table(content, row["metrics"], "metrics")
    backend = common.table(content, row["keras_backend"], "keras_backend")
    cpu = common.table(content, row.get("cpu_info"), "cpu_info")
    total = common.number(content, metrics.get("total_time"), "total_time")
    epochs = common.number(content, metrics.get("epochs", 1), "epochs")
    engine = common.text(content, backend.get("type"), "type")
    packages = {engine: backend.get("version"), "keras": row.get("keras_version")}
    return common.make_result(
        KIND,
        common.text(content, row["test_name"], "test_name"),
        [
            common.steady_samples("total_time", "s", (total,)),
            *([common.steady_samples("epoch_time", "s", (total / epochs,))] if epochs > 0 else []),
        ],
        params=common.scalars(metrics, without=("total_time",)),
        key=f"{row['test_name']} on {engine}" if engine else "",
        facts=common.scalars(row, "keras-benchmarks.", _KNOWN_FIELDS),
        started=common.parse_time(row.get("recorded_time")),
        environment=Environment(
            machine=common.scalars({"cpus": cpu.get("num_cores")}),
            packages={common.plain(k): common.plain(v) for k, v in packages.items() if k and v},
        ),
    )


def model_of(result: Result) -> str:
    """The old name of a result's model, or its workload if the old tool lacks it."""
    style = {"eager": "_eager", "subclassed": "_subclass"}.get(
        str(result.case.params.get("style", "")), ""
    )
    return result.case.workload.replace("-", "_") + style


def row(result: Result, model: str) -> dict[str, Any]:
    """The row of the old tool, with detected hardware."""
    machine, packages = result.environment.machine, result.environment.packages
    engine = str(result.case.backend).removeprefix("keras-")
    later = [value for part in result.samples if part.phase == "steady" for value in part.values]
    steps = next((part.steps for part in result.samples if part.phase == "steady"), 0)
    device = str(result.facts.get("device", ""))
    on_gpu = device.startswith("gpu")
    return {
        "test_id": _test_id(result),
        "test_name": model,
        "test_type": f"{_LIBRARY.get(engine, 'keras')}, {engine}",
        "recorded_time": result.started,
        "metrics": {
            "total_time": sum(later) * steps,
            "epochs": EPOCHS - 1,
            "batch_size": result.items,
            "sample_type": MODELS[model][1] if model in MODELS else "",
        },
        "keras_backend": {"type": engine, "version": _version(packages, engine)},
        "cpu_info": {
            "num_cores": machine.get("cpus", 0),
            "memory": round(float(machine.get("memory", 0)) / 2**30, 1),
            "units": "GiB",
        },
        "platform_info": {
            "type": machine.get("architecture", ""),
            "machine_type": machine.get("cpu", ""),
        },
        "keras_version": packages.get("keras", ""),
        "gpu_info": {"count": int(on_gpu), "platform": device[4:] if on_gpu else ""},
    }


def _version(packages: dict[str, str], engine: str) -> str:
    return next((packages[name] for name in packages if name.startswith(engine)), "")


def _test_id(result: Result) -> int:
    """48 bits, as in the old tool; derived from the result, so that rows can be recognized."""
    text = f"{result.id} {result.started} {result.environment.system.get('hostname', '')}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6])


PROVIDES = {
    KIND: Format(
        summary="keras-benchmarks of 2017: rows of its table",
        suffix=".json",
        matches=matches,
        read=read,
    )
}
