"""Files that other tools wrote are read without loss, and files of ours are read by those tools."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from assay.commands.import_ import import_run
from assay.core import registry
from assay.core.findings import SummarizedResult
from assay.core.formats import Content
from assay.core.registry import open_store
from assay.measure.import_file import read_file
from assay.stats.summary import summarize
from assay.stores.read import read_results
from tests.formats import made


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("made")


def as_readings(results) -> list[SummarizedResult]:
    return [SummarizedResult(result=result, summary=summarize(result)) for result in results]


def written(kind: str, results, path: Path) -> Path:
    path.write_bytes(registry.file_format(kind).write(as_readings(results)))
    return path


def again(kind: str, results):
    """Written, and read once more."""
    data = registry.file_format(kind).write(as_readings(results))
    return registry.file_format(kind).read(Content(origin="it", data=data))


def times(results) -> list[list[float]]:
    return [sorted(v for p in r.samples if p.phase == "steady" for v in p.values) for r in results]


@pytest.mark.real("pyperf")
def test_pyperf(folder, tmp_path):
    import pyperf

    path = made.pyperf(folder)
    theirs = pyperf.BenchmarkSuite.load(str(path)).get_benchmark("sum")

    kind, _, (ours,) = read_file(path)
    back = pyperf.BenchmarkSuite.load(str(written(kind, [ours], tmp_path / "a.json")))

    assert kind == "pyperf"
    assert ours.values("step_time") == theirs.get_values()
    assert len({part.process for part in ours.samples}) == theirs.get_nrun() == 3
    assert [part.steps for part in ours.samples if part.phase == "steady"] == [10, 10, 10]
    assert back.get_benchmark("sum").get_values() == theirs.get_values()
    warmups = [run.warmups for run in theirs.get_runs()]
    assert [run.warmups for run in back.get_benchmark("sum").get_runs()] == warmups
    assert back.get_benchmark("sum").get_metadata()["perf_version"] == pyperf.__version__


@pytest.mark.real("pytest_benchmark")
def test_pytest_benchmark(folder, tmp_path):
    path = made.pytest_benchmark(folder)
    theirs = json.loads(path.read_text())["benchmarks"]

    kind, _, ours = read_file(path)
    back = written(kind, ours, tmp_path / "a.json")
    command = [sys.executable, "-m", "pytest_benchmark", "compare", str(back), "--csv=a.csv"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert kind == "pytest-benchmark"
    assert [list(one.values("step_time")) for one in ours] == [b["stats"]["data"] for b in theirs]
    assert [one.case.params for one in ours] == [{"n": 10}, {"n": 100}]
    assert ours[0].facts["extra.colour"] == "red"
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "a.csv").read_text().count("::test_sum[") == 2
    stats = json.loads(back.read_text())["benchmarks"][0]["stats"]
    for name in ("min", "max", "mean", "median", "q1", "q3", "iqr", "outliers", "rounds", "ops"):
        expected = theirs[0]["stats"][name]
        assert stats[name] == (pytest.approx(expected) if name != "outliers" else expected), name


@pytest.mark.real("google_benchmark")
def test_google_benchmark(folder):
    path = made.google_benchmark(folder)
    rows = [r for r in json.loads(path.read_text())["benchmarks"] if "aggregate_name" not in r]

    kind, _, ours = read_file(path)
    back = {one.case.workload: one for one in again(kind, ours)}

    assert kind == "google-benchmark"
    found = {one.case.workload: one for one in ours}
    assert list(found) == ["sum", "custom/n:100", "refused"]
    nanoseconds = [row["real_time"] for row in rows if row["name"] == "sum"]
    milliseconds = [row["real_time"] for row in rows if row["name"] == "custom/n:100"]
    assert [v * 1e9 for v in found["sum"].values("step_time")] == pytest.approx(nanoseconds, 1e-15)
    of_custom = found["custom/n:100"]
    assert [v * 1e3 for v in of_custom.values("step_time")] == pytest.approx(milliseconds, 1e-15)
    assert (of_custom.case.params, found["sum"].values("things")) == ({"n": "100"}, (3.5, 3.5))
    assert (found["refused"].status, found["refused"].reason) == ("failed", "no such thing")
    assert back["sum"].values("step_time") == pytest.approx(found["sum"].values("step_time"), 1e-15)
    assert back["sum"].values("cpu_time") == pytest.approx(found["sum"].values("cpu_time"), 1e-15)


@pytest.mark.real("hyperfine")
def test_hyperfine(folder):
    path = made.hyperfine(folder)
    theirs = json.loads(path.read_text())["results"]

    kind, _, ours = read_file(path)
    data = json.loads(registry.file_format(kind).write(as_readings(ours)))["results"]

    assert kind == "hyperfine"
    assert [list(one.values("wall_time")) for one in ours] == [row["times"] for row in theirs]
    assert [one.case.params for one in ours] == [{"n": "1"}, {"n": "2"}]
    assert {part.process for part in ours[0].samples} == {0, 1, 2}
    assert [row["times"] for row in data] == [row["times"] for row in theirs]
    assert [row["mean"] for row in data] == pytest.approx([row["mean"] for row in theirs])


@pytest.mark.real("asv")
def test_asv(folder, tmp_path):
    from asv.results import Results

    path = made.asv(folder)
    theirs = Results.load(str(path), "vm")

    kind, _, ours = read_file(path)
    ended = [one for one in ours if one.status == "ok"]
    commit = ours[0].environment.git["commit"]
    back = Results.load(str(written(kind, ended, tmp_path / f"{commit[:8]}-a.json")), "vm")

    assert kind == "asv"
    name = "sums.Sums.time_sum"
    samples = [list(one.values("step_time")) for one in ours if one.case.workload == name]
    params = theirs.get_result_params(name)
    assert samples == [list(map(float, one)) for one in theirs.get_result_samples(name, params)]
    assert [one.status for one in ours if one.case.workload == "sums.time_bad"] == ["failed"]
    memory = next(one for one in ours if one.case.workload == "sums.peakmem_list")
    assert memory.samples[0].unit == "B"
    assert back.commit_hash == theirs.commit_hash
    assert back.get_result_params(name) == params
    assert back.get_result_samples(name, params) == theirs.get_result_samples(name, params)


@pytest.mark.real("mlperf_logging")
def test_mllog(folder, tmp_path):
    from mlperf_logging.compliance_checker.mlp_parser import parse_file

    kind, _, (ours,) = read_file(made.mllog(folder))
    lines, errors = parse_file(str(written(kind, [ours], tmp_path / "a.log")), ruleset="5.0.0")

    assert (kind, ours.case.workload, ours.status) == ("mllog", "tiny", "ok")
    assert ours.values("eval_accuracy") == (0.5, 0.625, 0.75)
    assert ours.facts["mllog.global_batch_size"] == 32
    assert errors == []
    told = [line.value["value"] for line in lines if line.key == "eval_accuracy"]
    assert told == [0.5, 0.625, 0.75]


@pytest.mark.real("pyarrow")
def test_a_whole_store_becomes_parquet_that_pyarrow_reads(folder, tmp_path, home):
    import pyarrow.parquet

    import assay

    source = folder / "hyperfine.json"
    results = [{"command": f"c{n}", "times": [n + 0.25, n + 0.5]} for n in range(3)]
    source.write_text(json.dumps({"results": results}))
    import_run(source)

    assay.export(kind="parquet", output=tmp_path / "store.parquet")

    table = pyarrow.parquet.read_table(tmp_path / "store.parquet").to_pylist()
    assert sorted(row["value"] for row in table) == [0.25, 0.5, 1.25, 1.5, 2.25, 2.5]
    assert {row["backend"] for row in table} == {"hyperfine"}
    with closing(open_store(tmp_path / "other")):
        import_run(tmp_path / "store.parquet", store=tmp_path / "other")
    theirs, ours = read_results(store=tmp_path / "other"), read_results()
    assert [one.result.case for one in theirs] == [one.result.case for one in ours]
    assert times(one.result for one in theirs) == times(one.result for one in ours)


@pytest.mark.long
@pytest.mark.real("torch")
def test_optimum_benchmark(folder, tmp_path):
    """In an environment of its own, which wants other versions than these tests have."""
    path = made.optimum(folder)
    theirs = json.loads(path.read_text())["report"]
    latencies = {name: target["latency"]["values"] for name, target in theirs.items()}

    kind, _, ours = read_file(path)
    back = made.optimum_reads(written(kind, ours, tmp_path / "a.json"))

    assert kind == "optimum"
    assert {one.case.params["target"]: list(one.values("step_time")) for one in ours} == latencies
    assert len(latencies["forward"]) >= 5
    assert ours[0].peaks["max_rss"] > 1e8
    assert back == latencies
