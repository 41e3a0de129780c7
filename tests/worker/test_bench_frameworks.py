"""One benchmark class for each framework: the same keys, and the right framework named."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest

DATA = str(Path(__file__).parents[1] / "data")


@pytest.fixture
def perfzero(assay, tmp_path, monkeypatch):
    """Method names → exit status and the summaries."""
    monkeypatch.chdir(tmp_path)

    def call(name):
        status, _, _ = assay(
            "perfzero", f"--benchmark_methods={name}", f"--python_path={DATA}", "--timeout=5m"
        )
        output = tmp_path / "workspace" / "output"
        found = [
            json.loads((folder / "perfzero_summary.json").read_text())
            for folder in sorted(output.iterdir())
        ]
        return status, found

    return call


@pytest.fixture
def no_tensorflow(tmp_path, monkeypatch):
    """An environment in which importing TensorFlow fails."""
    folder = tmp_path / "blocked"
    folder.mkdir()
    (folder / "tensorflow.py").write_text("raise ImportError('there is no TensorFlow here')\n")
    monkeypatch.setenv("PYTHONPATH", str(folder))


def check_small(status, summary, name):
    result, framework = summary["benchmark_result"], summary["ml_framework_info"]
    assert status == 0
    assert framework["name"] == name
    assert framework["build_version"]
    assert result["succeeded"] is True
    assert result["wall_time"] > 0
    assert result["metrics"] == [
        {"name": "rows", "value": 64.0, "min_value": 64.0, "max_value": 64.0}
    ]
    assert {"name": "device", "value": "cpu"} in result["extras"]
    assert {"name": "elements", "value": 4096.0} in result["extras"]
    assert result["reports"][0]["iters"] == 10
    assert set(summary) == {
        *("execution_id", "execution_timestamp", "benchmark_result", "benchmark_info"),
        *("setup_info", "ml_framework_info", "system_info", "process_info"),
    }


@pytest.mark.real("tensorflow")
def test_a_class_of_tensorflow_gives_the_documented_keys(perfzero):
    status, (summary,) = perfzero("bench_tensorflow.Matmul.benchmark_small")

    check_small(status, summary, "tensorflow")
    assert summary["ml_framework_info"]["version"] == metadata.version("tensorflow_cpu")


@pytest.mark.real("torch")
@pytest.mark.usefixtures("no_tensorflow")
def test_a_class_of_torch_does_the_same_without_tensorflow(perfzero):
    status, (summary,) = perfzero("bench_torch.Matmul.benchmark_small")

    check_small(status, summary, "torch")


@pytest.mark.real("jax")
@pytest.mark.usefixtures("no_tensorflow")
def test_a_class_of_jax_does_the_same_without_tensorflow(perfzero):
    status, (summary,) = perfzero("bench_jax.Matmul.benchmark_small")

    check_small(status, summary, "jax")


@pytest.mark.real("tensorflow")
def test_a_filter_on_a_class_that_touches_the_runtime_does_not_hang(perfzero):
    """PerfZero constructed it in the parent, then forked: a dead-lock."""
    status, found = perfzero("bench_tensorflow.Matmul.filter:benchmark_s(everal|ame)")

    results = {s["benchmark_result"]["name"].rpartition("_")[2]: s for s in found}
    several = results["several"]["benchmark_result"]
    twice = results["twice"]
    assert status == 1
    assert [report["name"] for report in several["reports"]] == [
        "Matmul.first",
        "Matmul.second/deep",
    ]
    assert (several["wall_time"], several["succeeded"]) == (0.1, True)
    assert (twice["benchmark_info"]["has_exception"], len(found)) == (True, 2)


@pytest.mark.real("tensorflow")
def test_a_class_for_several_gpus_shares_its_batch_by_tf_distribute(perfzero):
    status, (found,) = perfzero("bench_several_devices.Linear.filter:benchmark_[2-9]_gpu")

    result = found["benchmark_result"]
    values = {metric["name"]: metric["value"] for metric in result["metrics"]}
    assert status == 0
    assert result["name"] == "bench_several_devices.Linear.benchmark_2_gpu"
    assert (result["succeeded"], values["replicas"]) == (True, 2.0)
    assert values["exp_per_second"] > 0
    assert {"name": "num_gpus", "value": 2.0} in result["extras"]


@pytest.mark.real("tensorflow")
def test_methods_made_by_a_metaclass_are_found(perfzero):
    status, (found,) = perfzero("bench_tensorflow.Parameterized.filter:benchmark_size__s")

    assert status == 0
    assert found["benchmark_result"]["name"].endswith("Parameterized.benchmark_size__small")
    assert found["benchmark_result"]["wall_time"] == 8.0
