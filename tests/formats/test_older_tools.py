"""Files of PerfZero, the AWS driver, keras-benchmarks and nvidia-smi, and of optimum-benchmark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.compat.keras_benchmarks import row
from assay.core.errors import UsageError
from assay.measure.import_file import read_file
from tests.formats.test_round_trips import RESULT

LOGS = Path(__file__).parent.parent / "logs" / "logs"


@pytest.fixture
def kept(tmp_path):
    def keep(document) -> Path:
        path = tmp_path / "it"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    return keep


def test_a_summary_of_perfzero(kept):
    document = {
        "execution_id": "2026-11-16-18-06-46",
        "execution_timestamp": 1794852406.8,
        "benchmark_result": {
            "name": "a.B.benchmark_c",
            "wall_time": 0.5,
            "succeeded": True,
            "extras": [{"name": "examples", "value": 64.0}, {"name": "note", "value": "fast"}],
            "metrics": [{"name": "accuracy", "value": 0.9, "min_value": 0.8}],
            "trial_id": 2,
        },
        "ml_framework_info": {"name": "tensorflow", "version": "2.21"},
        "system_info": {"cpu_model": "some", "logical_cpu_count": 2, "hostname": "vm"},
        "process_info": {"max_rss": 100, "max_vms": 200, "max_cpu_percent": 99.5},
    }

    kind, _, (found,) = read_file(kept(document))

    assert (kind, found.case.key) == ("perfzero", "a.B.benchmark_c@perfzero")
    assert found.values("wall_time") == (0.5,)
    assert (found.values("accuracy"), found.values("examples")) == ((0.9,), (64.0,))
    assert found.started == "2026-11-16T18:06:46.800+00:00"
    assert (found.peaks["max_rss"], found.facts["perfzero.trial_id"]) == (100, 2)


@pytest.mark.parametrize("wall", [-1, None])
def test_a_summary_of_a_method_that_reported_nothing_is_a_failure(kept, wall):
    told = {"name": "a", "wall_time": wall, "succeeded": False, "extras": [], "metrics": []}

    _, _, (found,) = read_file(kept({"benchmark_result": told}))

    assert found.status == "failed"


def test_the_drivers_json_is_split_into_task_metric_and_suffix(kept):
    names = {"speed": 829.0, "cpu_memory_usage": 788.0, "uptime_in_seconds": 5.5}
    document = {f"mxnet.z_slow.{name}.nightly.p3": value for name, value in names.items()}

    kind, _, (found,) = read_file(kept(document))

    assert (kind, found.case.workload) == ("aws-driver", "z_slow")
    assert found.values("speed") == (829.0,)
    assert found.values("cpu_memory_usage") == (788 * 1024,)  # the driver's are KiB
    assert (found.facts["framework"], found.facts["suffix"]) == ("mxnet", "nightly.p3")


def test_keys_of_two_tasks_in_one_file_of_the_driver_are_refused(kept):
    document = {"a.cpu_memory_usage": 1.0, "a.speed": 2.0, "b.speed": 3.0}

    with pytest.raises(UsageError, match=r"has the key 'b\.speed', which is of another task"):
        read_file(kept(document))


@pytest.mark.parametrize("lines", [False, True])
def test_rows_of_keras_benchmarks(kept, lines):
    made = [row(RESULT, "mnist_mlp"), row(RESULT, "cifar10_cnn")]
    text = "\n".join(map(json.dumps, made)) if lines else json.dumps(made)

    kind, _, found = read_file(kept(text))

    assert kind == "keras-benchmarks"
    assert [one.case.workload for one in found] == ["mnist_mlp", "cifar10_cnn"]
    assert found[0].values("total_time") == (made[0]["metrics"]["total_time"],)
    assert found[0].case.params["batch_size"] == 32


def test_dmon_becomes_a_series_for_each_gpu():
    kind, _, (found,) = read_file(LOGS / "nvidia_smi_dmon.log")

    assert (kind, found.case.key) == ("nvidia-smi", "gpu0@nvidia-smi")
    assert found.values("pwr") == (60, 250, 300, 310)
    assert found.values("mclk") == (877e6,) * 4
    assert found.values("mtemp") == ()  # the GPU does not tell it
    units = {part.metric: part.unit for part in found.samples}
    assert (units["pwr"], units["gtemp"], units["mclk"]) == ("W", "°C", "Hz")


def test_a_queried_csv_may_have_its_header_twice():
    _, _, found = read_file(LOGS / "nvidia_smi_query.log")

    assert [one.case.workload for one in found] == ["gpu0", "gpu1"]
    assert found[1].values("memory.used") == (600 * 2**20, 700 * 2**20)


def test_a_csv_with_units_in_its_cells_alone_and_gaps(kept):
    text = (
        "timestamp, index, power.draw [W], utilization.gpu [%]\n"
        "2026/11/16 10:00:00.000, 0, 60.5 W, 97 %\n"
        "2026/11/16 10:00:01.000, 0, [N/A], 98 %\n"
    )

    _, _, (found,) = read_file(kept(text))

    assert (found.values("power.draw"), found.values("utilization.gpu")) == ((60.5,), (97, 98))
    assert found.started.startswith("2026-11-16T10:00:00")


def test_a_line_that_does_not_fit_its_columns_is_refused(kept):
    with pytest.raises(UsageError, match="has a line of 3 cells below 2 columns"):
        read_file(kept("index, memory.used [MiB]\n0, 300 MiB, 5\n"))


def test_a_report_of_optimum_has_a_result_for_each_target(kept):
    latency = {"unit": "s", "values": [0.5, 0.25], "count": 2}
    memory = {"unit": "MB", "max_ram": 100.0, "max_process_vram": None}
    blank = {"memory": None, "latency": None, "throughput": None}
    document = {
        "config": {
            "name": "bert",
            "backend": {"name": "pytorch", "device": "cpu"},
            "scenario": {"input_shapes": {"batch_size": 2}},
        },
        "report": {
            "load": {**blank, "latency": {"unit": "s", "values": [3.0]}},
            "forward": {**blank, "latency": latency, "memory": memory},
            "prefill": blank,
        },
    }

    kind, _, (load, forward) = read_file(kept(document))

    assert (kind, forward.case.key) == ("optimum", "bert/forward@optimum")
    assert (load.values("step_time"), forward.values("step_time")) == ((3.0,), (0.5, 0.25))
    assert forward.case.params == {"batch_size": 2, "target": "forward"}
    assert forward.peaks == {"max_rss": 100e6}
    assert forward.facts["backend.device"] == "cpu"


def test_a_file_that_optimum_benchmark_wrote_is_read_whole():
    """By 0.6.0, of a small BERT, once: the tool wants other versions than these tests have, so that
    one is written anew in `make long` only."""
    path = Path(__file__).parent.parent / "golden" / "optimum-benchmark-0.6.json"
    report = json.loads(path.read_text())["report"]

    kind, _, found = read_file(path)

    assert kind == "optimum"
    assert [one.case.params["target"] for one in found] == list(report)
    for one in found:
        target = report[one.case.params["target"]]
        assert list(one.values("step_time")) == target["latency"]["values"]
        assert one.peaks["max_rss"] == pytest.approx(1e6 * target["memory"]["max_ram"])
    assert found[0].facts["backend.version"] == "2.13.0+cpu"
