"""Ctrl-C, a lost connection, a killed parent: what is finished stays, the rest can go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import assay
from assay import Query
from assay.cli.finish import _Interrupt
from tests.measure.test_endings import gone

START = [sys.executable, "-c", "from assay.cli.main import main; main()"]


def start(home: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*START, "run", *words],
        env=os.environ | {"ASSAY_HOME": str(home), "PYTHONPATH": os.getcwd()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for(path: Path) -> str:
    for _ in range(400):
        if path.exists() and path.read_text():
            return path.read_text()
        time.sleep(0.05)
    raise AssertionError(f"{path} did not appear")


@pytest.fixture
def measuring(home, endings, tmp_path):
    """A run of three cases, the first done, the second hanging; with the hanging child's pid."""
    note = tmp_path / "child"
    process = start(
        home,
        f"{endings}:fine@python",
        f"{endings}:leaves_a_child:note='{note}'@python",
        f"{endings}:raises@python",
        "--budget",
        "200ms",
    )
    yield process, int(wait_for(note))
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_in_good_order(measuring, home, number):
    process, child = measuring

    process.send_signal(number)
    out, err = process.communicate(timeout=30)

    assert process.returncode == 130
    assert b"assay run --resume" in err
    assert b"fine" in out
    assert gone(child)
    assert [r.result.status for r in assay.read_results()] == ["ok", "interrupted"]


def test_a_lost_terminal_loses_no_result(measuring, home):
    process, child = measuring
    process.stdout.close()
    process.stderr.close()

    process.send_signal(signal.SIGHUP)
    process.wait(timeout=30)

    assert gone(child)
    assert [r.result.status for r in assay.read_results()] == ["ok", "interrupted"]


def test_a_killed_parent_takes_its_worker_along(measuring, home):
    process, child = measuring

    process.kill()
    process.communicate(timeout=30)

    assert gone(child)
    assert [r.result.status for r in assay.read_results()] == ["ok"]


def test_an_interrupted_run_goes_on_where_it_stopped(measuring, home):
    process, _ = measuring
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    hanging = assay.read_results()[-1].result
    Path(str(hanging.case.params["note"])).unlink()

    again = start(home, "--resume", hanging.run)
    wait_for(Path(str(hanging.case.params["note"])))
    again.send_signal(signal.SIGINT)
    again.communicate(timeout=30)

    statuses = [r.result.status for r in assay.read_results(Query(ids=(hanging.run,)))]
    assert statuses == ["ok", "interrupted"]


@pytest.mark.parametrize("again", [0.0, 0.005, 0.02, 0.1])
def test_a_second_signal_loses_nothing_of_what_the_first_ended(measuring, again):
    process, child = measuring

    process.send_signal(signal.SIGTERM)
    time.sleep(again)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)

    assert gone(child)
    assert [r.result.status for r in assay.read_results()] == ["ok", "interrupted"]


def test_a_worker_that_holds_the_interpreters_lock_ends_with_a_killed_parent(
    home, endings, tmp_path
):
    note = tmp_path / "worker"
    process = start(home, f"{endings}:holds_the_lock:note='{note}'@python", "--budget", "200ms")
    worker = int(wait_for(note))

    process.kill()
    process.communicate()

    assert gone(worker)


@pytest.mark.parametrize(
    "words",
    [
        ("task", "run", "--", "sh", "-c", "{script}"),
        ("ab", "--cmd", "sh -c '{script}'", "--cmd", "sh -c '{script} '"),
    ],
)
def test_commands_and_their_daemons_end_with_a_killed_parent(tmp_path, words):
    note = tmp_path / "pids"
    script = f"echo $$ > {note}.1; setsid sleep 1000 & echo $! > {note}.2; sleep 1001"
    process = subprocess.Popen(
        [*START, *(word.format(script=script) for word in words)],
        env=os.environ | {"PYTHONPATH": os.getcwd()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    pids = [int(wait_for(Path(f"{note}.{number}"))) for number in (1, 2)]

    process.kill()
    process.communicate()

    assert all(map(gone, pids))


def test_patience_ends(monkeypatch):
    now = iter([0.0, 1.0, 2.9, 3.1])
    interrupt = _Interrupt(lambda: next(now))

    with pytest.raises(KeyboardInterrupt):
        interrupt(signal.SIGINT, None)
    interrupt(signal.SIGINT, None)
    interrupt(signal.SIGTERM, None)
    with pytest.raises(KeyboardInterrupt, match="ended by SIGTERM"):
        interrupt(signal.SIGTERM, None)


@pytest.mark.usefixtures("measuring")
def test_two_measurers_of_one_run_are_refused():
    run = assay.read_results()[0].result.run

    with pytest.raises(assay.AssayError, match="being measured by another assay"):
        next(iter(assay.resume(run)))


def test_a_reader_that_has_seen_enough_is_no_error(home, endings):
    process = subprocess.run(
        f"{sys.executable} -c 'from assay.cli.main import main; main()' list workloads | head -1",
        shell=True,
        env=os.environ | {"ASSAY_HOME": str(home), "PYTHONPATH": os.getcwd()},
        capture_output=True,
        check=False,
    )
    assert process.stderr == b""


def test_a_signal_ends_a_benchmark_method_in_good_order(home):
    data = Path(__file__).parents[1] / "data"
    words = ("bench", "run", "bench_endings.Endings.benchmark_hangs", "--python-path", str(data))
    process = subprocess.Popen(
        [*START, *words],
        env=os.environ | {"ASSAY_HOME": str(home), "PYTHONPATH": os.getcwd()},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        wait_for_report(home)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()

    (reading,) = assay.read_results()
    assert process.returncode == 130
    assert reading.result.status == "interrupted"
    assert reading.result.values("wall_time") == (0.1,)


def wait_for_report(home: Path) -> None:
    """A whole one: its line has an end."""
    for _ in range(400):
        found = [file.read_bytes() for file in home.glob("runs/*/001/reports.jsonl")]
        if any(text.endswith(b"\n") for text in found):
            return
        time.sleep(0.05)
    raise AssertionError("no report appeared")


WHILE_LOADING = """
import signal, sys

class Late:  # Ctrl-C as the command line is being loaded
    def find_spec(self, name, *_):
        if name == "assay.cli.main":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Late())
from assay.__main__ import main
main()
"""


def test_an_interrupt_while_the_program_loads_is_no_traceback():
    done = subprocess.run([sys.executable, "-c", WHILE_LOADING], capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (130, b"")


ENDED = """
import os, signal
from assay.commands import evaluate
from assay.commands.run import api as run

def ended(*_, **__):
    os.kill(os.getpid(), signal.SIGTERM)
    return []

run.run = evaluate.evaluate = ended
from assay.cli.main import main
main()
"""


@pytest.mark.parametrize(
    "words",
    [
        ("vgg16", "--run_pytorch"),
        ("keras-benchmarks", "--model_name", "gru", "--keras_backend", "jax"),
        ("hpvm", "lenet", "keras_reload", "--keras_backend", "jax"),
    ],
)
def test_a_polite_kill_ends_the_old_command_lines_in_good_order_too(home, words):
    """Like Ctrl-C: what is measured is kept. The kill comes where the measurement would be."""
    done = subprocess.run([sys.executable, "-c", ENDED, *words], capture_output=True, check=False)

    assert done.returncode == 130, done.stderr.decode()


def test_a_race_that_was_killed_in_its_first_heat_goes_on(home, endings):
    words = ["race", f"{endings}:fine", "-b", "python", "--over", "size=1000,50000"]
    world = os.environ | {"ASSAY_HOME": str(home), "PYTHONPATH": os.getcwd()}
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": world}
    process = subprocess.Popen([*START, *words, "--budget", "3s"], **quiet)
    for _ in range(400):
        if list(home.glob("runs/*/002")):
            break
        time.sleep(0.02)
    process.kill()
    process.communicate()

    again = subprocess.run([*START, "race", "--resume", "last"], check=False, **quiet)

    assert again.returncode == 0, again.stderr
    assert b"decided" in again.stdout
