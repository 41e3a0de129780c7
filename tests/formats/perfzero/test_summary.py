"""PerfZero's summary, key by key, and what its own unit tests say of the machine."""

from __future__ import annotations

import pytest

from assay.core.records import Case, Environment, Procedure, Result
from assay.formats.perfzero.entries import BenchmarkEntry, ReportedMetric
from assay.formats.perfzero.messages import BenchAnswer, BenchResult
from assay.formats.perfzero.names import Method
from assay.formats.perfzero.summary import Execution, env_vars, summary, system_info
from assay.measure.machine.kernel import cores

MACHINE = {"cpu": "Some CPU @ 2.20GHz", "cores": 8, "cpus": 16, "sockets": 2}
GPUS = {"gpus": 2, "driver": "410.48", "gpu0": "GTX 1080", "gpu1": "GTX 1080"}


def benched(entries=(), has_exception=False, status="ok", told=BenchAnswer(began=12.5)):
    result = Result(
        id="run/001",
        case=Case(workload="pkg.mod.Class.method", backend="bench"),
        procedure=Procedure(),
        status=status,
        peaks={"max_rss": 100.0, "max_vms": 200.0, "max_cpu_percent": 77.1, "cpu_seconds": 1.0},
        environment=Environment(machine=MACHINE, system={"hostname": "here"}),
    )
    return BenchResult(
        result=result,
        method=Method("pkg.mod", "Class", "method"),
        trial=2,
        entries=tuple(entries),
        answer=told,
        folder="",
        output_dir="",
        started=11.0,
        has_exception=has_exception,
    )


def test_the_keys_are_perfzeros():
    framework = {"name": "tensorflow", "version": "2.21.0", "build_version": "v2.21.0-1"}
    entry = BenchmarkEntry(
        name="Class.method",
        wall_time=14.5,
        extras={"note": "words"},
        metrics=(ReportedMetric(name="top_1", value=0.5, min_value=0.1),),
    )

    found = summary(
        benched([entry], told=BenchAnswer(began=12.5, framework=framework)),
        Execution(
            execution_id="id",
            execution_label="test",
            ml_framework_build_label="nightly",
            platform_name="gcp",
            system_name="n1",
            env_vars={"PERFZERO_A": "1"},
            flags={"debug": False},
            harness_info={"hash": "abc"},
            site_package_info={"models": {"hash": "def"}},
        ),
    )

    reports = found["benchmark_result"].pop("reports")
    assert [report["name"] for report in reports] == ["Class.method"]
    assert found == {
        "execution_id": "id",
        "execution_timestamp": 12.5,
        "benchmark_result": {
            "name": "pkg.mod.Class.method",
            "wall_time": 14.5,
            "succeeded": True,
            "extras": [{"name": "note", "value": "words"}],
            "metrics": [{"name": "top_1", "value": 0.5, "min_value": 0.1}],
            "trial_id": 2,
        },
        "benchmark_info": {
            "harness_name": "perfzero",
            "harness_info": {"hash": "abc"},
            "has_exception": False,
            "execution_label": "test",
            "env_vars": {"PERFZERO_A": "1"},
            "flags": {"debug": False},
            "site_package_info": {"models": {"hash": "def"}},
        },
        "setup_info": {},
        "ml_framework_info": {**framework, "build_label": "nightly"},
        "system_info": {
            "platform_name": "gcp",
            "system_name": "n1",
            "cpu_model": "Some CPU @ 2.20GHz",
            "physical_cpu_count": 8,
            "logical_cpu_count": 16,
            "cpu_socket_count": 2,
            "hostname": "here",
        },
        "process_info": {"max_rss": 100, "max_vms": 200, "max_cpu_percent": 77.1},
    }


def test_what_was_not_asked_for_leaves_no_key():
    found = summary(benched(), Execution(execution_id="id"))

    assert set(found["benchmark_info"]) == {
        "harness_name",
        "harness_info",
        "has_exception",
        "site_package_info",
    }
    assert "build_label" not in found["ml_framework_info"]


def test_without_a_report_the_wall_time_is_minus_one():
    found = summary(benched(), Execution(execution_id="id"))["benchmark_result"]

    assert (found["wall_time"], found["succeeded"]) == (-1.0, True)
    assert (found["extras"], found["metrics"]) == ([], [])


def test_a_report_without_a_wall_time_counts_as_zero():
    found = summary(benched([BenchmarkEntry(name="Class.method")]), Execution(execution_id="id"))

    assert found["benchmark_result"]["wall_time"] == 0.0


def test_a_method_that_raised_has_its_reports_but_no_numbers():
    entries = [BenchmarkEntry(name="Class.before", wall_time=1.0)]

    found = summary(
        benched(entries, has_exception=True, status="failed"), Execution(execution_id="id")
    )

    assert found["benchmark_info"]["has_exception"] is True
    assert found["benchmark_result"]["wall_time"] == -1.0
    assert found["benchmark_result"]["reports"][0]["wall_time"] == 1.0


def test_named_reports_are_all_in_the_metrics():
    metric = (ReportedMetric(name="m", value=1.0),)
    entries = [
        BenchmarkEntry(name="Class.method", metrics=metric),
        BenchmarkEntry(name="Class.x", metrics=metric),
    ]

    found = summary(benched(entries), Execution(execution_id="id"))["benchmark_result"]

    assert [metric["name"] for metric in found["metrics"]] == ["m", "x/m"]


def test_only_perfzeros_variables_are_taken():
    assert env_vars({}) == {}
    assert env_vars({"TEST": "a", "PERFZERO_VAR1": "b"}) == {"PERFZERO_VAR1": "b"}


@pytest.mark.parametrize(
    ("names", "model"),
    [
        (["GTX 1080", "GTX 1080"], "GTX 1080"),
        (["Quadro K900", "GTX 1080"], "GTX 1080"),
        (["Quadro K900"], "Quadro K900"),
    ],
)
def test_the_accelerator_is_the_first_that_is_no_mere_screen_card(names, model):
    machine = {f"gpu{i}": name for i, name in enumerate(names)}
    found = system_info({**MACHINE, **machine, "gpus": len(names)}, Execution(execution_id=""))

    assert found["accelerator_model"] == model
    assert found["accelerator_count"] == len(names)


def test_gpus_are_not_told_for_a_tpu():
    found = system_info({**MACHINE, **GPUS}, Execution(execution_id="", tpu=True))

    assert "accelerator_model" not in found
    assert (
        system_info({**MACHINE, **GPUS}, Execution(execution_id=""))["accelerator_driver_version"]
        == "410.48"
    )


def test_cores_are_counted_without_hyper_threads():
    blocks = [(0, 0), (0, 1), (0, 0), (0, 1), (1, 0), (1, 1)]
    text = "\n\n".join(f"physical id\t: {p}\ncore id\t\t: {c}" for p, c in blocks)

    assert cores(text) == 4
    assert cores("processor : 0\nBogoMIPS : 50") == 0


def test_extras_that_are_json_texts_stay_as_they_were_reported():
    text = '{ "value": 3,  "succeeded": true, "description": "\u00fcber" }'
    entry = BenchmarkEntry(name="Class.method", wall_time=1.0, extras={"top_1": text})

    found = summary(benched([entry]), Execution(execution_id="id"))

    assert found["benchmark_result"]["extras"] == [{"name": "top_1", "value": text}]
