"""Numbers that are not finite, or that no number type holds, drawn into every place of a result.

Each command over a store with such results, and each reader of a file with them, answers in words.
`ASSAY_FAULT_SEED` draws the same faults again.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import traceback
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest

from assay.core.errors import AssayError
from assay.measure.import_file import read_file
from tests.faults.mutations import _places
from tests.faults.world import ROOT, World, in_time
from tests.formats.test_round_trips import READ, RESULT, WRITTEN, content

SECONDS = {"short": 10.0, "long": 600.0}  # of each of the two tests
GOLDEN = ROOT / "tests" / "golden" / "runs"
TEXTS = ("nan", "inf", "-inf")  # as documents spell them
NUMBERS = (float("nan"), float("inf"), float("-inf"), 2**63, 10**400, -1e308, 1e-320, True, -1, 0)
FILES = {
    kind: document
    for kind in {*READ} & {*WRITTEN} - {"parquet"}
    if (document := content(kind, RESULT).json) is not None
}
EXPORTS = (
    "csv",
    "hyperfine",
    "pyperf",
    "pytest-benchmark",
    "google-benchmark",
    "conbench",
    "mllog",
)


def _draws(length: str, kind: str):
    """Draws for so many seconds, each with the words that repeat it."""
    usual = 17 if length == "short" else time.time_ns() % 10**9
    seed = int(os.environ.get("ASSAY_FAULT_SEED", usual))
    end, count = time.monotonic() + SECONDS[length], 0
    while time.monotonic() < end or not count:
        yield Random(f"{seed}-{kind}-{count}"), f"fault {count} of {kind}, seed {seed}"
        count += 1


def _with_numbers(document: Any, values: tuple[Any, ...], draw: Random) -> Any:
    """The document, some numbers of which are others."""
    changed = deepcopy(document)
    numbers = [
        (holder, name)
        for holder, name in _places(changed)
        if isinstance(holder[name], int | float) and not isinstance(holder[name], bool)
    ]
    for holder, name in draw.sample(numbers, min(len(numbers), draw.choice([1, 2, 5, 40]))):
        holder[name] = draw.choice(values)
    return changed


@pytest.mark.parametrize("length", ["short", pytest.param("long", marks=pytest.mark.long)])
@pytest.mark.timeout(4 * SECONDS["long"])
def test_commands_over_results_with_such_numbers_answer_in_words(length, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))
    for number, (draw, name) in enumerate(_draws(length, "store")):
        base = tmp_path / str(number)
        base.mkdir()
        world = World(base)
        runs = world.home / "runs"
        shutil.copytree(GOLDEN, runs)
        file = draw.choice(sorted(runs.glob("*/*/result.json")))
        document = _with_numbers(json.loads(file.read_bytes()), TEXTS, draw)
        document["case"]["params"]["drawn"] = draw.choice(TEXTS)
        document["facts"]["drawn"] = draw.choice(TEXTS)
        file.write_text(json.dumps(document))

        wrong = [one for words in _questions(file, draw) for one in world.wrong_with(*words)]

        assert not (wrong := wrong + world.changed()), f"{name}: {wrong[0]}"
        shutil.rmtree(base)


def _questions(file: Path, draw: Random) -> list[tuple[str, ...]]:
    run, result = file.parents[1].name, f"{file.parents[1].name}/{file.parent.name}"
    asked = [
        ("list", "results"),
        ("show", result, "--format", draw.choice(["json", "text", "markdown"])),
        ("show", run, "--results"),
        ("history", ""),
        ("check",),
        ("explain", result, result),
        ("compare", run, run, "--metric", "all"),
        ("export", result, "--as", draw.choice(EXPORTS), "-o", "out"),
        ("report", run, "-o", "out.html"),
        ("plot", result, "-o", "out.svg"),
        ("upload", run, "--metrics", "out.jsonl"),
        ("publish", "site"),
    ]
    return draw.sample(asked, 4)


@pytest.mark.parametrize("length", ["short", pytest.param("long", marks=pytest.mark.long)])
@pytest.mark.timeout(4 * SECONDS["long"])
def test_files_of_other_tools_with_such_numbers_are_read_or_refused(length, tmp_path):
    path = tmp_path / "file.json"
    for draw, name in _draws(length, "file"):
        kind = draw.choice(sorted(FILES))
        text = json.dumps(_with_numbers(FILES[kind], NUMBERS, draw))
        path.write_text(text)
        problem = ""
        with in_time():
            try:
                read_file(path)
            except AssayError:
                continue
            except Exception:
                problem = traceback.format_exc()[-2000:]
        assert not problem, f"{name}, {kind}: {problem}\n{text[:2000]}"
