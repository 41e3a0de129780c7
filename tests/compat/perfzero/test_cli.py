"""assay perfzero: PerfZero's flags, files and outcomes, and better ones where they were wrong."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from assay import read_results as assay_readings
from assay.core.codec import decode
from assay.core.records import Result
from tests.core.attack_archives import attacks, snapshot, write
from tests.platforms.services import Tables, serving

DATA = str(Path(__file__).parents[2] / "data")
ENDINGS = "bench_endings.Endings.benchmark_"

HOOKS = """
def record(summary):
    open("recorded", "w").write(summary["benchmark_result"]["name"])

def fail(summary):
    raise OSError("no network")
"""


@pytest.fixture
def perfzero(assay, tmp_path, monkeypatch):
    """Words → exit status, standard output, standard error; in a workspace of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        return assay("perfzero", f"--python_path={DATA}", *words)

    return call


def folders(tmp_path):
    return sorted((tmp_path / "workspace" / "output").iterdir())


def summary_of(folder):
    return json.loads((folder / "perfzero_summary.json").read_text())


@pytest.mark.parametrize(
    ("name", "status", "succeeded", "has_exception", "wall_time"),
    [
        ("fine", 0, True, False, 0.5),
        ("out_of_bounds", 1, False, False, 0.5),
        ("raises", 1, False, True, -1.0),
        ("silent", 0, True, False, -1.0),
        ("named", 0, True, False, 0.1),
        ("several", 0, True, False, 0.1),
        ("not_a_number", 1, False, False, 0.5),
        ("exits", 1, False, True, -1.0),
        ("segfaults", 1, False, True, -1.0),
    ],
)
def test_every_case_ends_with_a_summary(
    perfzero, tmp_path, name, status, succeeded, has_exception, wall_time
):
    left, out, _ = perfzero(f"--benchmark_methods={ENDINGS}{name}")

    (folder,) = folders(tmp_path)
    found = summary_of(folder)
    result = found["benchmark_result"]
    assert left == status
    assert (result["succeeded"], result["wall_time"]) == (succeeded, wall_time)
    assert ("reason" in result) == (not succeeded)  # also of one that is skipped or crashes
    assert found["benchmark_info"]["has_exception"] == has_exception
    assert result["name"] == f"{ENDINGS}{name}"
    assert json.dumps(found, indent=2) in out
    assert json.dumps(found, indent=2) in (folder / "perfzero.log").read_text()


def test_a_hang_ends_with_a_summary_too(perfzero, tmp_path):
    status, _, error = perfzero(f"--benchmark_methods={ENDINGS}hangs", "--timeout=4s")

    result = summary_of(folders(tmp_path)[0])["benchmark_result"]
    assert status == 1
    assert "timeout: not finished after 4 s" in error
    assert [report["name"] for report in result["reports"]] == ["Endings.before"]


def test_a_short_benchmark_has_its_peaks_and_their_log(perfzero, tmp_path):
    perfzero(f"--benchmark_methods={ENDINGS}fine")

    (folder,) = folders(tmp_path)
    lines = [json.loads(line) for line in (folder / "process_info.log").read_text().splitlines()]
    assert summary_of(folder)["process_info"]["max_rss"] > 1 << 20
    assert list(lines[0])[:4] == ["time", "rss", "vms", "cpu_percent"]


def test_assays_own_result_lies_beside_the_summary(perfzero, tmp_path):
    perfzero(f"--benchmark_methods={ENDINGS}fine")

    (kept,) = assay_readings()
    beside = decode((folders(tmp_path)[0] / "result.json").read_bytes(), Result, "result.json")
    assert beside == kept.result


def test_flags_reach_the_summary(perfzero, tmp_path, monkeypatch):
    monkeypatch.setenv("PERFZERO_VAR1", "value1")
    perfzero(
        f"--benchmark_methods={ENDINGS}tells_its_constructor",
        "--execution_label=test",
        "--ml_framework_build_label=label",
        "--platform_name=gcp",
        "--system_name=n1",
        "--execution_id=fixed",
        "--root_data_dir=/somewhere",
        "--scratch_gcs_url=gs://scratch",
        '--perfzero_constructor_args={"size": 3}',
    )

    found = summary_of(tmp_path / "workspace" / "output" / "fixed")
    extras = {extra["name"]: extra["value"] for extra in found["benchmark_result"]["extras"]}
    assert found["execution_id"] == "fixed"
    assert found["benchmark_info"]["execution_label"] == "test"
    assert found["benchmark_info"]["env_vars"] == {"PERFZERO_VAR1": "value1"}
    assert found["benchmark_info"]["flags"]["system_name"] == "n1"
    assert found["system_info"]["platform_name"] == "gcp"
    assert found["ml_framework_info"]["build_label"] == "label"
    assert extras == {
        "output": "gs://scratch/fixed",
        "data": "/somewhere",
        "tpu": "None",
        "size": 3.0,
    }


def test_methods_trials_and_a_fixed_id_overwrite_nothing(perfzero, tmp_path):
    names = f"--benchmark_methods={ENDINGS}fine,{ENDINGS}silent"
    _, out, _ = perfzero(names, "--benchmark_num_trials=2", "--execution_id=id")

    found = [summary_of(folder)["benchmark_result"] for folder in folders(tmp_path)]
    assert [folder.name for folder in folders(tmp_path)] == ["id", "id-2", "id-3", "id-4"]
    assert [result["trial_id"] for result in found] == [1, 1, 2, 2]
    blocks = out.partition("Benchmark success results:\n")[2].partition("\nBenchmark local")[0]
    assert json.loads(blocks)["trial_2"] == {f"{ENDINGS}fine": True, f"{ENDINGS}silent": True}


def test_a_repository_is_cloned_and_its_class_is_run(perfzero, tmp_path):
    bare, work = tmp_path / "models.git", tmp_path / "work"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", bare], check=True)
    subprocess.run(["git", "clone", "-q", bare, work], check=True, capture_output=True)
    (work / "official").mkdir()
    (work / "official" / "bench.py").write_text("class A:\n    def benchmark(self): pass\n")
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (
        ["add", "."],
        [*identity, "commit", "-qm", "x"],
        ["push", "-q", "origin", "HEAD"],
    ):
        subprocess.run(["git", "-C", work, *words], check=True, capture_output=True)

    status, _, _ = perfzero(
        f"--git_repos={bare}",
        "--python_path=models",
        "--benchmark_methods=official.bench.A.benchmark",
    )

    info = summary_of(folders(tmp_path)[0])["benchmark_info"]["site_package_info"]
    assert status == 0
    assert set(info["models"]) == {"url", "branch", "hash"}


def test_data_are_fetched_before_the_run(perfzero, tmp_path):
    (tmp_path / "source").write_text("data")

    status, _, error = perfzero(
        f"--benchmark_methods={ENDINGS}fine",
        f"--data_downloads=file://{tmp_path}/source;sub/here",
        f"--root_data_dir={tmp_path}/data",
    )

    assert status == 0
    assert (tmp_path / "data" / "sub" / "here").read_text() == "data"
    assert "is there now" in error


@pytest.mark.parametrize("attack", ["CVE-2025-4517", "a name that is not UTF-8"])
def test_a_hostile_archive_changes_nothing_outside_the_data(perfzero, tmp_path, attack):
    root = tmp_path / "deep" / "data"
    root.mkdir(parents=True)
    write(tmp_path / "a.tar", attacks(root)[attack])
    before = snapshot(tmp_path)

    status, out, error = perfzero(
        f"--benchmark_methods={ENDINGS}fine",
        f"--data_downloads=file://{tmp_path}/a.tar",
        f"--root_data_dir={root}",
    )

    assert (status, out) == (1, "")
    assert "a.tar.arrived is not unpacked: '" in error
    assert "Traceback" not in error
    assert before.items() <= snapshot(tmp_path).items()
    assert list(root.iterdir()) == []


def test_a_failing_hook_never_loses_the_summary(perfzero, tmp_path):
    (tmp_path / "my_hooks.py").write_text(HOOKS)

    status, _, error = perfzero(
        f"--benchmark_methods={ENDINGS}fine",
        "--result_upload_methods=my_hooks.fail,my_hooks.record",
    )

    assert status == 1
    assert "the upload method my_hooks.fail failed: OSError: no network" in error
    assert (tmp_path / "recorded").read_text() == f"{ENDINGS}fine"
    assert summary_of(folders(tmp_path)[0])["benchmark_result"]["succeeded"]


def test_a_filter_without_a_match_does_not_stop_the_others(perfzero, tmp_path):
    status, _, error = perfzero(
        "--benchmark_methods=bench_endings.Endings.filter:nothing_.*",
        "--benchmark_methods=no_such_module.Class.filter:x",
        f"--benchmark_methods={ENDINGS}fine",
    )

    (folder,) = folders(tmp_path)
    assert status == 1
    assert "warning: No method of bench_endings.Endings matches 'nothing_.*'" in error
    assert "warning: no_such_module.Class cannot be looked into" in error
    assert summary_of(folder)["benchmark_result"]["name"] == f"{ENDINGS}fine"


def test_filters_without_any_match_are_one_sentence(perfzero, tmp_path):
    status, _, error = perfzero("--benchmark_methods=bench_endings.Endings.filter:nothing_.*")

    assert status == 2
    assert "No method of bench_endings.Endings matches 'nothing_.*'" in error


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--benchmark_metods=x"], 2, "--benchmark_methods"),
        ([], 2, "No benchmark method was given"),
        (["--bigquery_project_name=p"], 2, "Only one of --bigquery_project_name"),
        (["--bigquery_project_name=p", "--bigquery_dataset_table_name=t"], 2, "dataset.table"),
        (["--perfzero_constructor_args={"], 2, "--perfzero_constructor_args is no JSON"),
        (["--tpu_parameters={"], 2, "--tpu_parameters is no JSON"),
        (["--tpu_parameters={}"], 2, "lacks name, project, zone, size, version"),
        (["--profiler_enabled_time=10:5"], 2, "10:5 ends before it begins"),
        (["--benchmark_class_type=other"], 2, "--benchmark_class_type is other"),
        (["--git_repos=a;b;c;d"], 2, "is no repository"),
        (["--output_gcs_url=gs://$(id)"], 2, "is not a location for objects"),
        (["--gcloud_key_file_url=/no/such/key.json"], 2, "cannot be read"),
        (["--gcloud_key_file_url=/dev/null"], 2, "is not a key of a service account"),
        (
            ["--bigquery_project_name=p", "--bigquery_dataset_table_name=d.t`x"],
            2,
            "is not a table of BigQuery",
        ),
        (["--data_downloads=gs://B/x"], 2, "is not a location for objects"),
        (["--benchmark_num_trials=0"], 2, "trials is 0"),
    ],
)
def test_bad_input_is_one_sentence_before_anything_runs(perfzero, tmp_path, words, status, message):
    method = [f"--benchmark_methods={ENDINGS}fine"] if words and "metods" not in words[0] else []

    left, _, error = perfzero(*method, *words, f"--root_data_dir={tmp_path}")

    assert left == status
    assert message in error
    assert not (tmp_path / "workspace" / "output").exists()


@pytest.mark.real("google.cloud.bigquery")
def test_the_old_flags_reach_the_services(perfzero, tmp_path, monkeypatch):
    store = Tables()
    with serving(store) as (_, address):
        monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", address)
        status, _, error = perfzero(
            f"--benchmark_methods={ENDINGS}fine",
            "--bigquery_project_name=p",
            "--bigquery_dataset_table_name=nightly.summary",
            f"--output_gcs_url={tmp_path}/objects",
            "--execution_id=one",
        )

    assert status == 0, error
    (row,) = store.rows["nightly.summary"]
    kept = json.loads((tmp_path / "objects" / "one" / "perfzero_summary.json").read_text())
    assert json.loads(row["benchmark_result"]) == kept["benchmark_result"]
    assert row["execution_id"] == "one"
    assert kept["benchmark_info"]["output_url"] == f"{tmp_path}/objects/one/"


def test_what_a_method_prints_is_shown_when_debugging_alone(perfzero):
    method = f"--benchmark_methods={ENDINGS}raises"
    _, _, quiet = perfzero(method)
    _, _, error = perfzero(method, "--debug")

    assert "Traceback" not in quiet
    assert "Traceback" in error


@pytest.mark.parametrize("wrong", ["--benchmark_num_trials=0", "--timeout=-1"])
def test_a_wrong_number_is_refused_before_anything_is_fetched(perfzero, tmp_path, wrong):
    (tmp_path / "source").write_text("data")

    status, out, _ = perfzero(
        f"--benchmark_methods={ENDINGS}fine",
        f"--data_downloads=file://{tmp_path}/source;here",
        f"--root_data_dir={tmp_path}/data",
        wrong,
    )

    assert (status, out) == (2, "")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("name", ["../../../x", "/tmp/x", "..", "a/b", "a\x00b", "x" * 300])
def test_an_execution_id_names_one_folder_of_the_workspace(perfzero, tmp_path, name):
    before = sorted(path.name for path in tmp_path.iterdir())

    methods = f"--benchmark_methods={ENDINGS}fine"
    status, _, error = perfzero(methods, f"--execution_id={name}")

    assert status == 2
    assert "--execution_id is" in error
    assert {p.name for p in tmp_path.iterdir()} - set(before) <= {"workspace", "assay-home"}
