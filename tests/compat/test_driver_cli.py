"""assay driver: the AWS benchmark driver's command line, its one JSON, and its log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

RESULT = Path("dlbenchmark_result.json")
SECTION = """
[{name}]
patterns = ['{pattern}']
metrics = ['speed']
compute_method = ['{compute}']
command_to_execute = {command}
num_gpus = 0
"""


@pytest.fixture(autouse=True)
def here(folder):
    return folder


def add(name, command, pattern=r"speed (\d+)", compute="last"):
    with Path("task_config_template.cfg").open("a") as file:
        file.write(SECTION.format(name=name, command=command, pattern=pattern, compute=compute))


def test_the_documented_log_gives_the_documented_numbers_twice(assay, folder, documented):
    words = ("driver", "--task-name", "documented", "--num-gpus", "0", "--framework", "mxnet")
    for _ in range(2):
        status, _, _ = assay(*words, "--metrics-suffix", "nightly", "--epochs", "3")

        document = json.loads(Path("dlbenchmark_result.json").read_text())
        assert status == 0
        for name, value in documented.items():
            assert document[f"mxnet.documented.{name}.nightly"] == pytest.approx(value, abs=1e-6)
        assert document["mxnet.documented.cpu_memory_usage.nightly"] > 1000
        assert document["mxnet.documented.uptime_in_seconds.nightly"] > 0
        assert not Path("documented.log").exists()


def test_a_failed_task_leaves_its_log_and_what_it_told(assay):
    status, _, error = assay("driver", "--task-name", "fails", "--num-gpus", "0")

    assert status == 1
    assert "exit status 4" in error
    assert json.loads(RESULT.read_text())["fails.speed"] == 3
    assert Path("fails.log").read_text() == "speed 3\n"


@pytest.mark.parametrize("name", ["nothing", "cannot_start"])
def test_an_old_result_does_not_stay(assay, name):
    add("cannot_start", "no-such-program")
    RESULT.write_text("{}")

    status, _, _ = assay("driver", "--task-name", name, "--num-gpus", "0")

    assert status in (1, 2)
    assert not RESULT.exists()


def test_a_bad_section_does_not_block_another(assay):
    add("bad", "true", compute="averge")
    add("good", "echo speed 5")

    assert assay("driver", "--task-name", "good")[0] == 0
    status, _, error = assay("driver", "--task-name", "bad")
    assert status == 2
    assert "no compute method named 'averge'" in error


def test_several_tasks_are_one_file(assay):
    add("one", "echo speed 1")
    add("two", "echo speed 2")

    status, out, _ = assay("driver", "--task-name", "one", "--task-name", "two")

    document = json.loads(RESULT.read_text())
    assert status == 0
    assert (document["one.speed"], document["two.speed"]) == (1, 2)
    assert json.loads(out) == document


def test_all_tasks_are_run_and_one_that_failed_is_told(assay):
    add("bad", "true", compute="averge")
    add("good", "echo speed 5")

    status, _, error = assay("driver", "--all", "--num-gpus", "0")

    document = json.loads(RESULT.read_text())
    assert status == 1
    assert "warning: bad is left out" in error
    assert (document["good.speed"], document["fails.speed"]) == (5, 3)
    assert not [name for name in document if name.startswith("a_policy")]


def test_the_runner_takes_a_command_and_a_policy(assay):
    words = ("--task-name", "serve", "--metrics-policy", "a_policy", "--num-gpus", "0")
    command = "echo speed 4; echo speed 6"
    status, _, error = assay("driver", *words, "--command-to-execute", command, "--data-set", "x")

    assert status == 0
    assert json.loads(RESULT.read_text())["serve.speed"] == 5
    assert "the data set x is not fetched" in error


def test_a_date_is_no_time(assay):
    pattern = r"time: (\d+\.\d+)"
    add("dated", "printf 'Start time: 2018-10-01\\ntime: 12.5\\n'", pattern, "average")

    status, _, error = assay("driver", "--task-name", "dated")

    assert status == 0
    assert json.loads(RESULT.read_text())["dated.speed"] == 12.5
    assert "old driver" not in error


def test_a_number_that_is_read_otherwise_than_before_is_noted(assay):
    add("tiny", "echo time: 9.53674e-05", r"time: (\d+\.\d+\d+)", "average")

    status, _, error = assay("driver", "--task-name", "tiny")

    assert status == 0
    assert json.loads(RESULT.read_text())["tiny.speed"] == 9.53674e-05
    note = "note: speed: 9.53674e-05 is read whole, where the old driver read 9.53674"
    assert note in error


def test_the_same_number_in_another_spelling_is_not_noted(assay):
    add("same", "echo epoch 74. done", r"epoch (\d+)", "last")

    status, _, error = assay("driver", "--task-name", "same")

    assert status == 0
    assert json.loads(RESULT.read_text())["same.speed"] == 74
    assert "old driver" not in error


def test_the_gpu_keys_that_are_absent_without_a_gpu_are_named(assay, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    add("tiny", "echo speed 3")

    status, out, error = assay("driver", "--task-name", "tiny", "--num-gpus", "8")

    assert status == 0
    assert "gpu_memory" not in out
    note = (
        "note: --num-gpus is 8, but no GPU was seen: the keys gpu_memory_usage_mean, _std and _max"
    )
    assert note in error
    assert "no GPU was seen" not in assay("driver", "--task-name", "tiny")[2]


def test_a_metric_that_is_not_in_the_log_fails_and_the_others_are_told(assay, folder):
    status, out, error = assay("driver", "--task-name", "lacks_one")

    assert status == 1
    assert "1 of 2 metrics failed" in error
    assert json.loads(out)["lacks_one.speed"] == 3
    assert Path("lacks_one.log").read_text() == "speed 3\n"


def test_an_option_that_finds_nothing_to_change_is_noted(assay, folder):
    _, _, error = assay("driver", "--task-name", "lacks_one", "--kvstore", "device")

    assert "note: kvstore changes nothing in this command" in error


def test_a_section_may_have_a_longer_name_than_a_file(assay, folder):
    template = Path("task_config_template.cfg")
    template.write_text(template.read_text().replace("[fails]", f"[{'x' * 300}]"))

    status, out, error = assay("driver", "--task-name", "x" * 300)

    assert status == 1
    assert json.loads(out)[f"{'x' * 300}.speed"] == 3
    assert "its log: " in error


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--task-name", "documentd"), "named 'documentd'"),
        (("--task-name", "a_policy"), "is a metric policy"),
        (("--task-name", "documented", "--num-gpus", "some"), "not a valid integer"),
        ((), "No task was named"),
        (("--task-name", "x", "--command-to-execute", "y"), "--metrics-policy is missing"),
        (("--metrics-policy", "a_policy", "--command-to-execute", "y"), "0 task names"),
    ],
)
def test_misuse_is_one_sentence(assay, folder, words, complaint):
    status, out, error = assay("driver", *words)

    assert (status, out) == (2, "")
    assert complaint in error


def test_a_folder_without_the_template_is_said(assay):
    Path("task_config_template.cfg").unlink()

    status, _, error = assay("driver", "--task-name", "documented")

    assert status == 2
    assert "The task file task_config_template.cfg cannot be read" in error
