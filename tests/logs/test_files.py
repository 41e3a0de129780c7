from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.logs.files import find_task, read_tasks, read_toml, write_toml
from assay.logs.task import Metric, Task

EXAMPLES = Path(__file__).parents[2] / "examples" / "tasks"
GOOD = """\
[tasks.train]
command = ["python", "train.py", "--gpus", "{num_gpus}"]
directory = "work"
environment = { OMP_NUM_THREADS = "1" }
timeout = "10m"
repeats = 3
num_gpus = 2

[tasks.train.metrics]
loss = 'loss: {number}'

[tasks.train.metrics.speed]
pattern = 'Speed: {number} samples/sec'
compute = "average"
unit = "samples/s"
direction = "higher"
min = 100
skip = 2

[tasks.policy.metrics]
"top 1" = { json = "eval.acc", compute = "max" }
"""


def test_a_task_file_is_read_whole():
    tasks = read_toml(GOOD, "tasks.toml")
    train = tasks["train"]
    assert train.command == ("python", "train.py", "--gpus", "{num_gpus}")
    assert (train.timeout, train.repeats, train.num_gpus) == (600.0, 3, 2)
    assert train.metrics[0] == Metric(name="loss", pattern="loss: {number}")
    assert (train.metrics[1].min, train.metrics[1].skip) == (100.0, 2)
    assert tasks["policy"].command == ""
    assert tasks["policy"].metrics[0].name == "top 1"


@pytest.mark.parametrize(
    ("wrong", "right", "sentence", "hint"),
    [
        ("repeats = three", "repeats = 3", r"line 6: this is not TOML: Invalid value", ""),
        ("repeats = 0", "repeats = 3", r"line 6: repeats of the task 'train' is 0", ""),
        ("repeats = 'x'", "repeats = 3", r"line 6: repeats of the task 'train' is invalid", ""),
        ("repeat = 3", "repeats = 3", r"line 6: There is no setting of a task named", "repeats"),
        ("timeout = 'soon'", 'timeout = "10m"', r"line 5: 'soon' is not a duration", "10s"),
        ("compute = 'averge'", 'compute = "average"', r"line 14: .* named 'averge'", "average"),
        ("skip = -1", "skip = 2", r"line 18: skip of the metric 'speed' is -1", ""),
        ("loss = 'loss: (x'", "loss = 'loss: {number}'", r"line 10: .* metric 'loss': .*", ""),
        ("pattern = '(['", "pattern = 'Speed: {number} samples/sec'", r"line 13: .* '\(\['", ""),
        ("key = 'a'\njson = 'b'", 'unit = "samples/s"', r"line 15: .* has pattern and key", ""),
        ("json = 1, compute", "json = ", r"line 21: json of the metric 'top 1'", ""),
        ("direction = 'up'", 'direction = "higher"', r"line 16: direction of the metric", ""),
    ],
)
def test_a_mistake_is_one_sentence_with_file_and_line(wrong, right, sentence, hint):
    if wrong.startswith("json = 1"):
        text = GOOD.replace('json = "eval.acc"', "json = 1")
    else:
        text = GOOD.replace(right, wrong)
    with pytest.raises(UsageError, match=f"^tasks.toml, {sentence}") as caught:
        read_toml(text, "tasks.toml")
    assert hint in caught.value.hint
    assert "\n" not in str(caught.value)


def test_a_table_that_is_none_of_ours_is_refused():
    with pytest.raises(UsageError, match="line 1: There is no table named 'task'") as caught:
        read_toml("[task.a]\ncommand = 'x'\n", "f.toml")
    assert caught.value.hint == "Did you mean 'tasks'?"


def test_an_unknown_task_suggests_the_nearest(tmp_path):
    path = tmp_path / "tasks.toml"
    path.write_text(GOOD)
    with pytest.raises(UsageError, match="named 'trian'") as caught:
        find_task(path, "trian")
    assert caught.value.hint == "Did you mean 'train'?"


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"none\.toml cannot be read \(No such file"):
        read_tasks(tmp_path / "none.toml")
    (tmp_path / "bytes.cfg").write_bytes(b"[a]\nx = \xff\n")
    with pytest.raises(UsageError, match=r"bytes\.cfg, line 2: byte 0xff is no UTF-8"):
        read_tasks(tmp_path / "bytes.cfg")


def test_what_is_written_reads_back_the_same():
    task = Task(
        name="odd name",
        command='say "it\'s"',
        environment={"A.B": "x\ny"},
        timeout=1.5,
        metrics=(
            Metric(name="speed", pattern=r"Speed:\t(\d+)", compute="average", min=0.5),
            Metric(name="it's", pattern="it's\\s{number}", direction="lower", skip=1),
        ),
    )
    assert read_toml(write_toml([task]), "")["odd name"] == task


def test_the_shipped_tasks_are_right_and_their_programs_are_there():
    tasks = read_tasks(EXAMPLES / "tasks.toml")
    assert {"numpy_regression", "keras_digits"} <= set(tasks)
    for task in tasks.values():
        words = task.command.split() if isinstance(task.command, str) else task.command
        assert task.metrics
        assert (EXAMPLES / words[1]).is_file()
