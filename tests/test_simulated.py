"""macOS and Windows, simulated: reading commands run, others are refused in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli.main import COMMANDS, READING
from tests.kept_runs import CASE, OTHER

ROOT = Path(__file__).parent.parent
SYSTEMS = {"darwin": "macOS", "win32": "Windows"}
COMMANDS_THAT_READ = (
    "list",
    "list results",
    "show RUN",
    "history mnist-mlp@jax",
    "check",
    "compare RUN RUN",
    "explain RUN/001 RUN/002",
    "report RUN -o FOLDER/report.html",
    "publish FOLDER/site",
    "export RUN --as csv -o FOLDER/out.csv",
    "import FOLDER/times.json",
    "results label RUN new",
    "upload --list-pending",
    "data list",
    "serve --help",
)


@pytest.fixture(params=SYSTEMS)
def on(request, home):
    """Words → exit status and all output, on that system."""

    def run(*words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "tests.simulated", request.param, *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        return done.returncode, done.stdout + done.stderr

    run.name = SYSTEMS[request.param]
    return run


@pytest.mark.real("jinja2", "uvicorn")
@pytest.mark.parametrize("line", COMMANDS_THAT_READ)
def test_a_command_that_reads_runs(on, keep, tmp_path, line):
    run = keep((CASE, 0.01, "ok"), (OTHER, 0.02, "ok"))
    times = {"results": [{"command": "ls", "times": [0.5, 0.25]}]}
    (tmp_path / "times.json").write_text(json.dumps(times))
    words = line.replace("RUN", run).replace("FOLDER", str(tmp_path)).split()

    status, text = on(*words)

    assert status == 0, text
    assert "Traceback" not in text


@pytest.mark.parametrize("command", ["run mnist-mlp", "task run -- echo", "doctor", "ab a b"])
def test_a_command_that_measures_is_refused_in_one_sentence(on, command):
    status, text = on(*command.split())

    assert status == 3
    assert f"assay {command.split()[0]} needs Linux, and this is {on.name}." in text
    assert "Traceback" not in text


def test_what_reads_is_a_command():
    assert set(COMMANDS) >= READING
