"""Tasks from Python: found in files, changed by overrides, run, read from logs, saved."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from assay import Query, history, read_results
from assay.commands.task import api as tasking
from assay.core.errors import UsageError
from assay.logs.task import Metric, Task

SPEED = Metric(name="speed", pattern=r"speed (\d+)", compute="average", unit="items/s")
TASKS = """
[tasks.train]
command = ["train", "--gpus", "{num_gpus}", "--epochs", "20"]
num_gpus = 8

[tasks.policy]
[tasks.policy.metrics.speed]
pattern = 'speed (\\d+)'
"""


def task(script: str, **fields: object) -> Task:
    values = {"name": "job", "command": (sys.executable, "-c", script), "metrics": (SPEED,)}
    return Task(**(values | fields))


def metric(result, name: str) -> float:
    return result.values(name)[-1]


@pytest.fixture
def file(tmp_path, monkeypatch) -> str:
    """A task file that is found without being named."""
    monkeypatch.chdir(tmp_path)
    Path("tasks.toml").write_text(TASKS)
    return "tasks.toml"


def test_metrics_are_suggested_where_none_are_given(home, tmp_path):
    script = "for i in range(5): print(f'epoch {i} loss={1 / (i + 1):.3f}')"
    asked = task(script, metrics=())
    result = tasking.run_task(asked)

    outcome = tasking.suggestions(result)
    saved = tasking.save(asked, outcome, tmp_path / "tasks.toml")

    assert metric(result, "loss") == 0.2
    again = tasking.run_task(tasking.find_task("job", str(saved)))
    assert metric(again, "loss") == 0.2


def test_a_log_that_exists_already_is_read(tmp_path):
    log = tmp_path / "old.log"
    log.write_text("speed 3\nspeed 5\n")

    result = tasking.parse_log(task(""), log)

    assert metric(result, "speed") == 4
    assert read_results(Query(backend="log"))[-1].result == result


def test_a_shipped_task_runs():
    found = tasking.find_task("numpy_regression", "examples/tasks/tasks.toml")

    result = tasking.run_task(found)

    assert result.status == "ok", result.reason
    assert len(result.values("speed")) == 3


def test_a_task_is_filled_and_overridden_and_what_changes_nothing_is_noted(file):
    overrides = {"num_gpus": 2, "epochs": 3, "dtype": "float16"}

    found = tasking.find_task("train", overrides=overrides)

    assert found.command == ("train", "--gpus", "2", "--epochs", "3")
    assert found.num_gpus == 2
    assert found.notes == ("dtype changes nothing in this command",)


@pytest.mark.parametrize("overrides", [{"learning_rate": 0.1}, {"num_gpus": "two"}])
def test_an_override_that_cannot_be_is_refused(file, overrides):
    (name,) = overrides

    with pytest.raises(UsageError, match=name):
        tasking.find_task("train", overrides=overrides)


def test_a_policy_cannot_be_run_but_gives_a_command_its_metrics(file):
    with pytest.raises(UsageError, match="'policy' is a metric policy"):
        tasking.find_task("policy")

    found = tasking.task_from_command(["python", "work/train.py", "--fast"], policy="policy")
    assert (found.name, [one.name for one in found.metrics]) == ("policy", ["speed"])


@pytest.mark.parametrize(
    ("words", "name"),
    [(["python", "work/train.py", "--fast"], "train"), (["/bin/true", "x"], "true")],
)
def test_a_command_is_named_after_its_script(words, name):
    assert tasking.task_from_command(words).name == name


def test_without_a_task_file_it_is_said_which_were_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match=r"neither tasks.toml nor task_config_template.cfg"):
        tasking.tasks()


@pytest.mark.parametrize(("place", "complaint"), [("", "There is no log"), ("no.log", "no.log")])
def test_a_log_that_is_not_a_file_is_refused_and_nothing_is_kept(tmp_path, home, place, complaint):
    with pytest.raises(UsageError, match=complaint):
        tasking.parse_log(task(""), tmp_path / place)

    assert not home.exists()


def test_a_task_is_saved_to_a_place_that_can_be_written_alone(tmp_path):
    outcome = tasking.suggestions(tasking.run_task(task("print('loss=1')", metrics=())))

    with pytest.raises(UsageError, match=r"cannot be written \(No such file or directory\)"):
        tasking.save(task(""), outcome, tmp_path / "nowhere" / "tasks.toml")


def test_a_case_of_a_command_is_named_by_the_whole_command(home):
    first, second = (
        tasking.run_task(tasking.task_from_command(["bash", "-c", f"echo loss={n}"]))
        for n in (1, 2)
    )

    assert first.case.key == "bash -c echo loss=1@command"
    assert second.case.key == "bash -c echo loss=2@command"
    assert first.case.workload == "bash"  # as before, so that its series continues
    (series,) = history("bash -c echo loss=2@command")
    assert len(series.points) == 1


def test_a_long_command_is_shortened_in_the_middle(home):
    words = ["echo", "loss=1", *(f"--option-{n}" for n in range(50))]

    key = tasking.run_task(tasking.task_from_command(words)).case.key

    assert key.startswith("echo loss=1 --option-0") and key.endswith("--option-49@command")
    assert len(key) == 80 + len("@command")


def test_a_name_replaces_the_command(assay, home):
    assay("task", "run", "--name", "nightly", "--", "echo", "loss=1")

    assert read_results()[-1].result.case.key == "nightly@command"


def test_a_name_without_a_command_is_refused(assay, home):
    status, _, error = assay("task", "run", "--name", "nightly")

    assert status == 2 and "--name nightly has no command" in error


def test_an_older_series_of_a_command_continues_under_the_new_name(home):
    task = tasking.task_from_command(["bash", "-c", "echo loss=1"])
    old = msgspec.structs.replace(task, unnamed=False)

    assert [tasking.run_task(each).case.key for each in (old, task)] == [
        "bash@command",
        "bash -c echo loss=1@command",
    ]
    (series,) = history("bash")
    assert (series.key, len(series.points)) == ("bash -c echo loss=1@command", 2)
