"""One small file of every format that `assay import` reads, and faults of its values and structure.

The specimens are the schema: a mutation replaces, removes, repeats or renames one of their fields.
"""

from __future__ import annotations

import csv
import io
import json
from copy import deepcopy
from random import Random
from typing import Any

from assay.core import registry
from assay.core.findings import SummarizedResult
from assay.core.records import Case, Environment, Procedure, Result, Samples
from assay.stats.summary import summarize

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**22, 10**400, -(10**400)),
    *(0.0, -0.0, 1e-320, 1e308, -1e308, float("nan"), float("inf"), float("-inf")),
    *(
        "",
        " ",
        "nan",
        "Infinity",
        "-inf",
        "1e999",
        "9" * 400,
        "9" * 5000,
        "0x10",
        "1_000",
        "٣",
        "½",
    ),
    *(
        "\ud800",
        "a\udfffb",
        "\0",
        "\x1b[2J",
        "\u202eabc",
        "\ufeff",
        "a" * 5000,
        "=cmd()",
        "../../x",
    ),
    *("2026-13-45T99:99:99", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "T", "now"),
    *([], {}, [[]], [None], [{}], {"a": {}}, [1, "a"], {"": ""}, {"s": 1}, [["s"]], [[1, 2], 3]),
    *(["s"], {"value": {}}, [float("nan")], [10**400], {"\ud800": 10**400}, "s", "ns", "second"),
)
HYPERFINE = {
    "command": "sleep 1", "mean": 1.0, "stddev": 0.1, "median": 1.0, "user": 0.1, "system": 0.1,
    "min": 0.9, "max": 1.1, "times": [1.0, 1.1, 0.9], "exit_codes": [0, 0, 1],
    "parameters": {"n": "3"}, "memory_usage_byte": [1024, 2048, 4096], "note": "x",
}  # fmt: skip
PERFZERO = {
    "execution_id": "2026-11-16-18-06-46",
    "execution_timestamp": 1794852406.8,
    "benchmark_result": {
        "name": "a.B.benchmark_c", "wall_time": 0.5, "succeeded": True, "trial_id": 2,
        "extras": [{"name": "examples", "value": 64.0}, {"name": "note", "value": "fast"}],
        "metrics": [{"name": "accuracy", "value": 0.9, "min_value": 0.8, "max_value": 1.0}],
    },
    "benchmark_info": {"harness_name": "x", "harness_info": {}, "has_exception": False},
    "ml_framework_info": {"name": "tensorflow", "version": "2.21"},
    "system_info": {"cpu_model": "some", "logical_cpu_count": 2, "hostname": "vm",
                    "accelerator_count": 1, "accelerator_model": "a"},
    "process_info": {"max_rss": 100, "max_vms": 200, "max_cpu_percent": 99.5},
}  # fmt: skip
KERAS = {
    "test_name": "mnist_mlp", "recorded_time": "2017-12-01 10:00:00",
    "metrics": {"total_time": 3.0, "epochs": 3, "batch_size": 128, "sample_type": "images"},
    "keras_backend": {"type": "tensorflow", "version": "1.4"}, "keras_version": "2.1",
    "cpu_info": {"num_cores": 8, "memory": 30.0, "units": "GiB"},
    "gpu_info": {"count": 1, "platform": "K80"}, "test_id": 12, "test_type": "keras",
}  # fmt: skip
DRIVER = {
    "mxnet.train.speed.c4": 100.0,
    "mxnet.train.uptime_in_seconds.c4": 10.0,
    "mxnet.train.cpu_memory_usage.c4": 1024,
}
OPTIMUM = {
    "config": {
        "name": "forward", "backend": {"name": "pytorch", "model": "bert", "device": "cpu"},
        "scenario": {"name": "inference", "input_shapes": {"batch_size": 2}},
        "environment": {"cpu": "some", "cpu_count": 2, "python_version": "3.11"},
    },
    "report": {"forward": {
        "memory": {"unit": "MB", "max_ram": 100.0, "max_process_vram": 10.0},
        "latency": {"unit": "s", "values": [0.1, 0.2], "count": 2},
        "throughput": {"unit": "samples/s", "value": 10.0},
        "energy": {"unit": "kWh", "total": 1e-6}, "efficiency": None,
    }},
}  # fmt: skip
GOOGLE = {
    "context": {"date": "2026-11-16T18:06:46+00:00", "host_name": "vm", "num_cpus": 2,
                "json_schema_version": 1, "caches": []},
    "benchmarks": [
        {"name": "sum/n:100", "run_name": "sum", "run_type": "iteration", "iterations": 100,
         "real_time": 12.5, "cpu_time": 12.4, "time_unit": "ns", "things": 3.5, "label": "a",
         "items_per_second": 1e6},
        {"name": "mean", "run_name": "mean", "run_type": "aggregate", "aggregate_name": "mean",
         "iterations": 3, "real_time": 12.5, "cpu_time": 12.4, "time_unit": "ms"},
        {"name": "no", "error_occurred": True, "error_message": "no such thing"},
    ],
}  # fmt: skip
ASV = {
    "commit_hash": "abc", "version": 2, "python": "3.11", "date": 1794852406000,
    "params": {"cpu": "some", "num_cpu": "2", "arch": "x86_64", "ram": "8", "machine": "vm",
               "os": "Linux"},
    "requirements": {"numpy": "2.0"}, "env_name": "py3.11",
    "result_columns": ["result", "params", "version", "started_at", "duration", "stats_number",
                       "samples"],
    "results": {"b.time_a": [[1.0, 2.0], [["1", "2"]], "v", 1794852406000, 1.0, [3, 4],
                             [[1.0, 1.1], [2.0]]],
                "b.track_b": [[7], [], "w", None]},
}  # fmt: skip
PYTEST = {
    "machine_info": {"node": "vm", "machine": "x86_64", "python_version": "3.11", "system": "Linux",
                     "release": "6", "cpu": {"brand_raw": "some", "count": 2}},
    "commit_info": {"id": "abc", "branch": "main", "dirty": False},
    "datetime": "2026-11-16T18:06:46", "version": "5.0.0",
    "benchmarks": [
        {"name": "test_sum[10]", "fullname": "t.py::test_sum[10]", "params": {"n": 10},
         "extra_info": {"colour": "red"}, "group": None, "options": {"rounds": 3},
         "stats": {"data": [0.1, 0.2], "iterations": 3, "median": 0.15, "mean": 0.15}},
        {"name": "few", "stats": {"median": 0.15}},
    ],
}  # fmt: skip
PYPERF = {
    "version": "1.0",
    "metadata": {"name": "sum", "unit": "second", "loops": 4, "hostname": "vm", "cpu_count": 2,
                 "inner_loops": 2, "python_version": "3.11"},
    "benchmarks": [{"metadata": {"tags": ["a"]}, "runs": [
        {"metadata": {"date": "2026-11-16 18:06:46.8", "mem_max_rss": 1000, "loops": 2},
         "warmups": [[4, 0.2]], "values": [0.1, 0.2]},
        {"values": [0.3]},
    ]}],
}  # fmt: skip
CONBENCH = {
    "run_id": "r", "timestamp": "2026-11-16T18:06:46Z", "tags": {"name": "sum", "n": 3},
    "stats": {"data": [1.0, 2.0], "unit": "s", "times": [], "time_unit": "s", "iterations": 2},
    "info": {"numpy": "2.0"}, "context": {"benchmark_language": "Python"},
    "machine_info": {"name": "vm", "cpu_model_name": "some", "cpu_thread_count": "2"},
    "github": {"commit": "abc"}, "error": None,
}  # fmt: skip
MLLOG = [
    {"time_ms": 1794852406000, "key": "submission_benchmark", "value": "resnet", "metadata": {}},
    {"time_ms": 1794852407000, "key": "run_start", "value": None, "metadata": {}},
    {"time_ms": 1794852408000, "key": "eval_accuracy", "value": 0.7, "metadata": {"epoch_num": 1}},
    {"time_ms": 1794852408000, "key": "step_time", "value": 0.7,
     "metadata": {"unit": "s", "process": 1, "steps": 2}},
    {"time_ms": 1794852409000, "key": "run_stop", "value": None,
     "metadata": {"status": "success"}},
]  # fmt: skip
SMI = """index, timestamp, memory.used [MiB], power.draw [W], pstate
0, 2026/11/16 18:06:46.8, 512 MiB, 70.5 W, P0
1, 2026/11/16 18:06:47.8, 9 MiB, N/A, P8
"""
DMON = "# gpu    pwr  gtemp\n# Idx      W      C\n    0     70     40\n    1      -     41\n"
JSON: dict[str, Any] = {
    "hyperfine": {"results": [HYPERFINE]},
    "perfzero": PERFZERO,
    "keras-benchmarks": KERAS,
    "aws-driver": DRIVER,
    "optimum": OPTIMUM,
    "google-benchmark": GOOGLE,
    "asv": ASV,
    "pytest-benchmark": PYTEST,
    "pyperf": PYPERF,
    "conbench": [CONBENCH],
    "bmf": {"sum": {"latency": {"value": 1.0, "lower_value": 0.9}, "size": {"value": 3}}},
    "github-action": [{"name": "sum", "unit": "ms", "value": 1.5, "range": "± 0.1", "extra": "x"}],
}
TEXTS = ("csv", "mllog", "nvidia-smi", "nvidia-smi-dmon")
KINDS = (*JSON, *TEXTS, "parquet")
_RESULT = Result(
    id="20261116-000000-abcd/001",
    case=Case(workload="sum", backend="jax", params={"n": 32}, key="sum:n=32@jax"),
    procedure=Procedure(),
    status="ok",
    started="2026-11-16T18:06:46.800+00:00",
    samples=(Samples(metric="step_time", unit="s", phase="steady", values=(0.1, 0.2, 0.3)),),
    environment=Environment(packages={"jax": "0.10"}, git={"commit": "abc"}),
)


def file_with_fault(kind: str, draw: Random) -> bytes:
    """A specimen with one to three faults."""
    faults = draw.randrange(1, 4)
    if kind in JSON:
        return _json(_with_faults(JSON[kind], draw, faults))
    if kind == "mllog":
        events = _with_faults(MLLOG, draw, faults)
        events = events if isinstance(events, list) else [events]
        return b"\n".join(b":::MLLOG " + _json(event) for event in events)
    if kind == "parquet":
        return _parquet(draw, faults)
    return _cells(kind, draw, faults)


def _json(document: object) -> bytes:
    """`@digits@` becomes a number of more digits than Python writes."""
    return json.dumps(document, default=str).replace('"@digits@"', "9" * 5000).encode()


def _with_faults(specimen: Any, draw: Random, count: int) -> Any:
    document = deepcopy(specimen)
    for _ in range(count):
        places = list(_places(document))
        if not places:
            return document
        parent, key = draw.choice(places)
        _change(parent, key, draw)
    return document


def _places(node: Any) -> Any:
    """Every field and item, with what holds it."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in list(pairs):
        yield node, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _change(parent: Any, key: Any, draw: Random) -> None:
    choice = draw.random()
    if choice < 0.7:
        parent[key] = deepcopy(draw.choice(ODD))
    elif choice < 0.8:
        del parent[key]
    elif choice < 0.9 and isinstance(parent, list):
        parent.insert(key, deepcopy(parent[key]))
    elif isinstance(parent, dict):
        parent[str(draw.choice(ODD))[:4000]] = parent[key]
    else:
        parent[key] = [parent[key]]


def _odd_text(draw: Random) -> str:
    text = str(draw.choice(ODD))
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _cells(kind: str, draw: Random, faults: int) -> bytes:
    """Tables of text: cells are replaced, lines removed or repeated."""
    if kind == "csv":
        write = registry.file_format("csv").write
        assert write is not None
        reading = SummarizedResult(result=_RESULT, summary=summarize(_RESULT))
        text = write([reading]).decode()
    else:
        text = DMON if kind == "nvidia-smi-dmon" else SMI
    blank = kind == "nvidia-smi-dmon"
    table = (
        [line.split() for line in text.splitlines()]
        if blank
        else list(csv.reader(io.StringIO(text)))
    )
    for _ in range(faults):
        line = draw.randrange(0 if draw.random() < 0.1 else 1, len(table))
        if draw.random() < 0.1:
            table.insert(line, table[draw.randrange(len(table))][: draw.randrange(1, 5)])
        elif table[line]:
            table[line][draw.randrange(len(table[line]))] = _odd_text(draw)
    if blank:
        return "\n".join(" ".join(cells) for cells in table).encode()
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(table)
    return out.getvalue().encode()


def _parquet(draw: Random, faults: int) -> bytes:
    """Columns are replaced by odd values, of one type as parquet needs it."""
    import pyarrow as arrow
    import pyarrow.parquet

    from assay.formats import rows

    columns = {name: [row[name] for row in rows.rows(_RESULT)] for name in rows.COLUMNS}
    for _ in range(faults):
        name = draw.choice(list(columns))
        columns[name] = [draw.choice(ODD)] * 3
        if draw.random() < 0.2:
            del columns[draw.choice(list(columns))]
    arrays = {}
    for name, values in columns.items():
        try:
            arrays[name] = _written_array(arrow, values)
        except (arrow.ArrowException, OverflowError, UnicodeEncodeError):
            arrays[name] = arrow.array([_odd_text(draw) for _ in values])
    return _written(arrow, arrays)


def _written_array(arrow: Any, values: list[Any]) -> Any:
    """An array that parquet can hold: a struct without fields raises."""
    array = arrow.array(values)
    _written(arrow, {"it": array})
    return array


def _written(arrow: Any, arrays: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    arrow.parquet.write_table(arrow.table(arrays), file)
    return file.getvalue()
