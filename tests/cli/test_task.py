"""assay task and the AWS driver's own command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

LOG = """\
INFO:root:Epoch[0] Batch [49]\tSpeed: 829.012392 samples/sec\taccuracy=0.172578
INFO:root:Epoch[0] Batch [99]\tSpeed: 844.157227 samples/sec\taccuracy=0.206563
INFO:root:Epoch[0] Batch [149]\tSpeed: 835.582445 samples/sec\taccuracy=0.230781
INFO:root:[Epoch 0] training: accuracy=0.248027
INFO:root:[Epoch 0] time cost: 69.030488
INFO:root:[Epoch 0] validation: accuracy=0.296484
INFO:root:Epoch[1] Batch [49]\tSpeed: 797.687061 samples/sec\taccuracy=0.322344
INFO:root:Epoch[1] Batch [99]\tSpeed: 821.444257 samples/sec\taccuracy=0.329883
INFO:root:Epoch[1] Batch [149]\tSpeed: 810.339386 samples/sec\taccuracy=0.342969
INFO:root:[Epoch 1] training: accuracy=0.351983
INFO:root:[Epoch 1] time cost: 61.266612
INFO:root:[Epoch 1] validation: accuracy=0.393930
"""
TEMPLATE = r"""
[documented]
patterns = ['Speed: NUMBER samples/sec', 'training: accuracy=NUMBER',
    'validation: accuracy=NUMBER', 'time cost: NUMBER']
metrics = ['speed', 'training_acc', 'validation_acc', 'total_training_time']
compute_method = ['average', 'last', 'last', 'total']
command_to_execute = cat train.log --gpus 8 --epochs 20
num_gpus = 8

[fails]
patterns = ['speed (\d+)']
metrics = ['speed']
compute_method = ['last']
command_to_execute = sh -c 'echo speed 3; exit 4'
num_gpus = 0

[a_policy]
patterns = ['speed (\d+)']
metrics = ['speed']
compute_method = ['average']
"""
TEMPLATE = TEMPLATE.replace("NUMBER", r"(\d+\.\d+|\d+)")
WANTED = {
    "speed": 823.037128,
    "training_acc": 0.351983,
    "validation_acc": 0.39393,
    "total_training_time": 130.2971,
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder as the old driver's users have it; `cat` stands for the training script."""
    monkeypatch.chdir(tmp_path)
    Path("train.log").write_text(LOG)
    script = "import sys, time; sys.stdout.write(open('train.log').read()); time.sleep(0.5)"
    command = f'{sys.executable} -c "{script}"'
    Path("task_config_template.cfg").write_text(TEMPLATE.replace("cat train.log", command))
    return tmp_path


def test_the_documented_log_gives_the_documented_numbers_twice(assay, folder):
    words = ("driver", "--task-name", "documented", "--num-gpus", "0", "--framework", "mxnet")
    for _ in range(2):
        status, _, _ = assay(*words, "--metrics-suffix", "nightly", "--epochs", "3")

        document = json.loads(Path("dlbenchmark_result.json").read_text())
        assert status == 0
        for name, value in WANTED.items():
            assert document[f"mxnet.documented.{name}.nightly"] == pytest.approx(value, abs=1e-6)
        assert document["mxnet.documented.cpu_memory_usage.nightly"] > 1000
        assert document["mxnet.documented.uptime_in_seconds.nightly"] > 0
        assert not Path("documented.log").exists()


def test_a_failed_task_leaves_its_log_and_no_old_result(assay, folder):
    Path("dlbenchmark_result.json").write_text("{}")

    status, _, error = assay("driver", "--task-name", "fails", "--num-gpus", "0")

    assert status == 1
    assert "exit status 4" in error
    assert not Path("dlbenchmark_result.json").exists()
    assert Path("fails.log").read_text() == "speed 3\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("driver", "--task-name", "documentd"), "named 'documentd'"),
        (("driver", "--task-name", "a_policy"), "is a metric policy"),
        (("driver",), "Missing option"),
        (("task", "run"), "Neither a task nor a command"),
        (("task", "run", "python", "train.py"), "assay task run -- python train.py"),
        (("task", "run", "nothing"), "named 'nothing'"),
        (("task", "run", "x", "--file", "nowhere.toml"), "nowhere.toml"),
        (("task", "parse", "no.log", "--task", "documented"), "There is no log no.log"),
        (("task", "parse", "train.log", "--task", "docmented"), "named 'docmented'"),
        (("task", "run", "--policy", "nope", "--", "true"), "named 'nope'"),
        (("list", "tasks", "--file", "nowhere.toml"), "nowhere.toml"),
    ],
)
def test_misuse_is_one_sentence(assay, folder, words, complaint):
    status, _, error = assay(*words)

    assert status == 2
    assert complaint in error
    assert "Traceback" not in error


def test_a_policy_gives_a_command_its_metrics(assay, folder):
    words = ("task", "run", "--policy", "a_policy", "--format", "json")
    status, out, _ = assay(*words, "--", "sh", "-c", "echo speed 4; echo speed 6")

    assert status == 0
    assert json.loads(out)["results"][0]["summary"]["speed"]["value"] == 5


def test_tasks_are_listed(assay, folder):
    status, out, _ = assay("list", "tasks")

    assert status == 0
    assert "documented" in out
    assert "a metric policy" in out


def test_a_log_is_parsed(assay, folder):
    status, out, _ = assay("task", "parse", "train.log", "--task", "documented", "--format", "json")

    summary = json.loads(out)["results"][0]["summary"]
    assert status == 0
    assert {name: summary[name]["value"] for name in WANTED} == pytest.approx(WANTED, abs=1e-6)


def test_suggestions_are_shown_and_saved(assay, folder):
    words = ("task", "run", "--save", "mine.toml", "--", "sh", "-c", "cat train.log")
    status, out, error = assay(*words)

    assert status == 0
    assert "Speed" in out or "speed" in out
    assert "saved as mine.toml" in error
    assert assay("list", "tasks", "--file", "mine.toml")[0] == 0


def test_a_saved_file_is_not_overwritten(assay, folder):
    Path("mine.toml").write_text("")

    status, _, error = assay("task", "run", "--save", "mine.toml", "--", "cat", "train.log")

    assert status == 2
    assert "is there already" in error
