"""What commands say about the kept store: `python -m tests.frozen.outputs` writes data/outputs/.

The store in data/store was measured by f7cfc39 in the folder /tmp/assay-frozen, and is never
written anew. Only names of the machine it was measured on were replaced (folders, kernel), and what
nothing here reads was left out: locks, empty logs, series of monitors. Its runs: mnist-mlp before
and after a commit, plain Python twice, latency, four endings, a timeout, a comparison of cases and
one of commands, an A/A test, a race, a command, an imported file, two trainings, an evaluation, a
tuning, a night, a bisection, and a run that was interrupted.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parent / "data"
STORE = DATA / "store"
OUTPUTS = DATA / "outputs"
# ending of its name → a run
RUNS = {path.name.rpartition("-")[2]: path.name for path in sorted((STORE / "runs").iterdir())}
_DIGITS = re.compile(r"(?<![\w.])\d+\.\d{9,}(e-?\d+)?(?![\w.])")
Call = Callable[..., tuple[int, str, str]]  # words → exit status, standard output and error


def commands() -> dict[str, tuple[str, ...]]:
    """Name of a record → the words of the command."""
    texts = {
        "list-text": "list results --all --limit 0",
        "list-json": "list results --all --limit 0 --format json",
        "list-csv": "list results --all --limit 0 --format csv",
        "list-label": "list results --all --label before --format markdown",
        "list-status": "list results --all --status failed --format json",
        "list-tag": "list results --all --tag who=frozen --format json",
        "list-backend": "list results --all --backend torch --since 2026-11 --format json",
        "list-workloads": "list workloads --format json",
        "list-formats": "list formats --format json",
        "compare-text": "compare before after",
        "compare-json": "compare before after --format json",
        "compare-all": "compare before after --metric all --format json",
        "compare-by": "compare before after --by backend",
        "compare-across": "compare cxuw/001 cxuw/002 --across backend --format json",
        "compare-imported": "compare 93gj/001 93gj/002 --gate --anyway",
        "history-text": "history cases.py:nap@python",
        "history-json": "history cases.py:nap@python --format json",
        "history-open": "history mnist-mlp --metric open_time --format json",
        "explain-text": "explain cxuw/001 2y7v/001",
        "explain-json": "explain cxuw/001 2y7v/001 --format json",
        "check-text": "check --fail-on step_time:3%",
        "check-json": "check --format json",
        "show-raw": "show 9ztt/001 --format json --raw",
        "show-columns": "show cxuw --columns memory,p50,p99,energy",
        "show-csv": "show cxuw --format csv",
        "show-markdown": "show ayub --format markdown",
        "show-results": "show qwvz --results",
        "show-one": "show cxuw/002",
        "export-pyperf": "export cxuw --as pyperf",
        "export-google": "export cxuw --as google-benchmark",
        "repro-against": "repro cxuw/001 --against 2y7v/001 --format json",
        "error-run": "show nothing",
        "error-case": "history cases.py:map@python",
        "error-label": "compare before nowhere",
        "error-column": "show cxuw --columns speeed",
    }
    for ending in RUNS:
        texts[f"show-{ending}-text"] = f"show {ending}"
        texts[f"show-{ending}-json"] = f"show {ending} --format json"
    return {name: tuple(text.split()) for name, text in texts.items()}


def main() -> None:
    shutil.rmtree(OUTPUTS, ignore_errors=True)
    OUTPUTS.mkdir()
    with tempfile.TemporaryDirectory() as folder, copied_store(Path(folder)):
        for name, words in commands().items():
            record = json.dumps(call(_run, words), indent=1, ensure_ascii=False)
            (OUTPUTS / f"{name}.json").write_text(record + "\n")


@contextmanager
def copied_store(folder: Path) -> Iterator[Path]:
    """A copy of the store in a folder that becomes the current one; what is printed there depends
    neither on the terminal nor on the user."""
    home = folder / "home"
    shutil.copytree(STORE, home)
    shutil.copy(DATA / "cases.py", folder)
    variables = {"ASSAY_HOME": str(home), "COLUMNS": "120", "TZ": "UTC", "HOME": str(folder)}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in variables.items():
            patch.setenv(name, value)
        for name in ("ASSAY_STORE", "ASSAY_MACHINE", "NO_COLOR"):
            patch.delenv(name, raising=False)
        yield home


def recorded(name: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((OUTPUTS / f"{name}.json").read_text())
    return record


def call(assay: Call, words: tuple[str, ...]) -> dict[str, Any]:
    """What a command said: JSON on one line, else line by line."""
    status, out, err = assay(*words)
    lines = [json.dumps(json.loads(out))] if "json" in words else out.split("\n")
    return {
        "words": list(words),
        "status": status,
        "out": [_portable(line) for line in lines],
        "err": [_portable(line) for line in err.split("\n")],
    }


def _portable(line: str) -> str:
    """With FOLDER for where the copied store lies, and without the digits of a number that depend
    on how a processor adds."""
    line = line.replace(str(Path.cwd()), "FOLDER")
    return _DIGITS.sub(lambda number: f"{float(number[0]):.9g}", line)


def _run(*words: str) -> tuple[int, str, str]:
    ran = subprocess.run(
        [sys.executable, "-m", "assay", *words], capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout, ran.stderr


if __name__ == "__main__":
    main()
