"""Commands as benchmarks: real processes, whatever their end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from assay import read_results
from assay.commands.task import api as tasking
from assay.logs.task import Metric, Task
from tests.measure.test_endings import gone

SPEED = Metric(name="speed", pattern=r"speed (\d+)", compute="average", unit="items/s")


def task(script: str, **fields: object) -> Task:
    values = {"name": "job", "command": (sys.executable, "-c", script), "metrics": (SPEED,)}
    return Task(**(values | fields))


def metric(result, name: str) -> float:
    return result.values(name)[-1]


def test_a_command_gives_its_metrics_and_its_wall_time():
    result = tasking.run_task(task("print('speed 10'); print('speed 20')"))

    assert (result.status, metric(result, "speed")) == ("ok", 15)
    assert 0 < metric(result, "wall_time") < 60
    assert read_results()[-1].result == result


def test_wall_time_is_that_of_the_command():
    result = tasking.run_task(task("import time; print('speed 1'); time.sleep(1)"))

    assert 1.0 <= metric(result, "wall_time") <= result.seconds + 1e-9


def test_the_memory_of_a_brief_command_is_seen(home):
    """200 MB, and gone at once: the kernel's own mark tells it, above that of assay itself. So
    assay is a process of its own here: a test runner has grown larger than the command."""
    words = ["task", "run", "--", sys.executable, "-c", "x = bytearray(200_000_000)"]
    world = os.environ | {"ASSAY_HOME": str(home), "PYTHONPATH": os.getcwd()}
    command = [sys.executable, "-c", "from assay.cli.main import main; main()", *words]
    subprocess.run(command, env=world, check=True, capture_output=True)

    assert read_results()[-1].result.peaks["max_rss"] > 200e6


@pytest.mark.parametrize(
    ("script", "status", "reason"),
    [
        ("print('speed 1'); raise SystemExit(3)", "failed", "exit status 3"),
        ("raise ValueError('no good')", "failed", "ValueError: no good"),
        ("import os; os.kill(os.getpid(), 9)", "crashed", "SIGKILL"),
        ("raise MemoryError('out of memory')", "out-of-memory", "out of memory"),
        ("print('nothing to see')", "failed", "1 of 1 metrics failed"),
    ],
)
def test_every_ending_is_a_result(script, status, reason):
    result = tasking.run_task(task(script))

    assert result.status == status
    assert reason in result.reason


def test_no_shell_unless_the_task_asks(tmp_path):
    touched = tmp_path / "touched"
    command = (sys.executable, "-c", "print('speed 1')", f"; touch {touched}")

    tasking.run_task(task("", command=command))

    assert not touched.exists()


def test_one_missing_metric_does_not_lose_the_others():
    lost = Metric(name="lost", pattern=r"lost (\d+)")

    result = tasking.run_task(task("print('speed 5')", metrics=(SPEED, lost)))

    assert (result.status, metric(result, "speed")) == ("failed", 5)
    assert "was not in the log" in str(result.facts["metric lost"])


def test_repeats_are_processes_of_one_result():
    result = tasking.run_task(task("print('speed 4')", repeats=3))

    assert result.values("speed") == (4, 4, 4)
    assert [part.process for part in result.samples if part.metric == "speed"] == [0, 1, 2]


def test_a_second_run_sees_only_its_own_log():
    first = tasking.run_task(task("print('speed 1')"))
    second = tasking.run_task(task("print('speed 9')"))

    assert (metric(first, "speed"), metric(second, "speed")) == (1, 9)


def test_a_flood_of_output_is_read_and_kept_small(home):
    script = "import sys\nfor i in range(200000): sys.stdout.write(f'speed {i % 10}\\n')"
    result = tasking.run_task(task(script))

    log = home / "runs" / result.id / "log.gz"
    assert metric(result, "speed") == 4.5
    assert log.stat().st_size < result.facts["log_bytes"] / 5


def test_secrets_in_a_command_are_not_kept(home):
    tasking.run_task(task("", command=("sh", "-c", "echo speed 1", "--api-key=hunter2")))

    files = [file for file in home.rglob("*") if file.is_file()]
    assert files
    assert not any(b"hunter2" in file.read_bytes() for file in files)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_command_too(home, tmp_path, number):
    note = tmp_path / "child"
    words = ["task", "run", "--", "sh", "-c", f"echo $$ > {note}; sleep 1000"]
    process = subprocess.Popen(
        [sys.executable, "-c", "from assay.cli.main import main; main()", *words],
        env=os.environ | {"ASSAY_HOME": str(home), "PYTHONPATH": os.getcwd()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    for _ in range(400):
        if note.exists() and note.read_text():
            break
        time.sleep(0.05)

    process.send_signal(number)
    process.communicate(timeout=30)

    assert process.returncode == 130
    assert gone(int(note.read_text()))
    assert read_results()[-1].result.status == "interrupted"


def test_values_behind_a_metric_are_kept_beside_the_result(home):
    result = tasking.run_task(task("print('speed 10'); print('speed 20')"))

    values = json.loads((home / "runs" / result.id / "values.json").read_text())
    assert values == {"speed": [10, 20]}
