"""Faults drawn at random, and five claims that hold after each.

Nothing of assay's runs on; every case asked for is a result, or becomes one by --resume; list, show
and --resume answer without a traceback; no file outside home and workspace changes; no secret is
stored and no control character printed. `ASSAY_FAULT_SEED` draws the same faults again.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import stat
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from assay.core.errors import AssayError, EndingError
from assay.core.records import Query
from assay.core.registry import open_store
from assay.formats.perfzero.proto import DamagedError
from assay.measure import plan
from tests.faults import readers
from tests.faults.archives import archive_fault
from tests.faults.claims import broken
from tests.faults.mutations import mutated, replaced
from tests.faults.world import ESCAPE, ROOT, SECRET, World, in_time
from tests.needs import with_needs

SECONDS = {"short": 12.0, "long": 1200.0}  # of each kind
GOLDEN = ROOT / "tests" / "golden" / "runs"
ENDINGS = ROOT / "tests" / "data" / "endings.py"
NAMES = (
    *("fine", "raises", "raises_later", "fails_to_build", "exits", "exits_in_good_order"),
    *("segfaults", "is_killed", "has_no_memory", "closes_its_pipes", "not_callable"),
    *("gets_signal", "forks", "writes_into_the_pipe", "answers_wrongly", "has_a_fact_of_none"),
    *("says", "hangs", "hangs_deaf", "leaves_a_daemon"),
)
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
LABELS = (
    f"api_key={SECRET}",
    f"see --password {SECRET}",
    f"night {ESCAPE}",
    "größer \u202e",
    "a\nb",
)
# What a reader may raise over a file that is not as it should be.
REFUSED = (AssayError, EndingError, DamagedError)  # the last is a ValueError

Fault = Callable[[World, Random], list[str]]


@pytest.mark.parametrize("length", ["short", pytest.param("long", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "kind", with_needs(["process", "folder", "file", "archive"], {"file": ("h5py",)})
)
@pytest.mark.timeout(4 * SECONDS["long"])
def test_the_claims_hold_after_every_fault(kind, length, tmp_path, capsys):
    """So many seconds of faults, each in a world of its own."""
    usual = 17 if length == "short" else time.time_ns() % 10**9  # a gate fails for a reason
    seed = int(os.environ.get("ASSAY_FAULT_SEED", usual))
    end, count, wrong = time.monotonic() + SECONDS[length], 0, []
    while time.monotonic() < end and not wrong:
        base = tmp_path / str(count)
        base.mkdir()
        wrong = FAULTS[kind](World(base), Random(f"{seed}-{kind}-{count}"))
        count += 1
        shutil.rmtree(base, onerror=_made_removable)
    with capsys.disabled():
        sys.stdout.write(f"\n{count} faults of kind {kind}, seed {seed} ")

    assert wrong == [], f"fault {count - 1} of kind {kind}, seed {seed}"
    assert count > 1


def process_fault(world: World, draw: Random) -> list[str]:
    """A command of some cases, some of which end badly, meets signals or limits."""
    words, asked = draw.choice([_cases, _cases, _cases, _task, _comparison, _packing])(world, draw)
    said = f"{words}"
    label = f"--label={draw.choice(LABELS)}"  # before the command that a task ends with
    words = [label if word == "{label}" else word for word in words]
    running = world.begin(words, _limits(draw))
    for _ in range(draw.choice([0, 0, 1, 1, 2, 3])):
        time.sleep(draw.random() * draw.choice([0.02, 0.5, 3.0]))
        number = draw.choice(SIGNALS)
        said += f" {signal.Signals(number).name}"
        running.signal(number)
    return [f"{said}: {one}" for one in broken(world, asked, running.end())]


def _cases(world: World, draw: Random) -> tuple[list[str], set[str]]:
    chosen = draw.sample(NAMES, draw.randrange(1, 4))
    note = {"leaves_a_daemon": f":note='{world.work / 'daemon'}'"}
    texts = [f"{ENDINGS}:{name}{note.get(name, '')}@python" for name in chosen]
    keys = {case.key for case in plan.expand_cases(texts)}
    return ["run", *texts, "--budget", "50ms", "--timeout", "2s", "{label}"], keys


def _task(world: World, draw: Random) -> tuple[list[str], set[str]]:
    script = draw.choice(
        [
            "echo speed 3; sleep 1",
            "setsid sleep 100 & echo loss nan",
            "kill -40 $$",
            f"printf '\\033]0;x\\007 speed 3\\n'; exit 3 # --password {SECRET}",
            "sleep 100",
            "exec >&- 2>&-; sleep 1",
        ]
    )
    return ["task", "run", "--timeout", "3s", "{label}", "--", "sh", "-c", script], set()


def _comparison(world: World, draw: Random) -> tuple[list[str], set[str]]:
    commands = [draw.choice(["true", "sleep 0.01", "sh -c 'setsid sleep 99 &'"]), "sleep 0.02"]
    words = [word for command in commands for word in ("--cmd", command)]
    return ["ab", *words, "--budget", "2s", "--pairs", "3", "{label}"], set()


def _packing(world: World, draw: Random) -> tuple[list[str], set[str]]:
    """Of kept runs, all of which are there afterwards, packed or not."""
    shutil.copytree(GOLDEN, world.home / "runs")
    with contextlib.closing(open_store(world.home)) as store:
        world.kept = {result.id for result in store.results(Query())}
    return ["results", "pack", "--before", "2100"], set()


def _limits(draw: Random) -> Callable[[], None] | None:
    """Descriptors or bytes of a file, sometimes; set in the child before it begins."""
    if draw.random() < 0.7:
        return None
    kind, most = draw.choice(
        [
            (resource.RLIMIT_NOFILE, draw.randrange(12, 60)),
            (resource.RLIMIT_FSIZE, draw.choice([0, 100, 5_000, 40_000])),
        ]
    )

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(kind, (most, most))

    return limit


def folder_fault(world: World, draw: Random) -> list[str]:
    """Run folders of a store, one of which is not as it was; also taken in by import, or packed."""
    runs = world.home / "runs"
    shutil.copytree(GOLDEN, runs)
    victim = draw.choice(sorted(runs.iterdir()))
    if draw.random() < 0.5:
        world.wrong_with("list", "results")  # the index knows it as it was
    if draw.random() < 0.3:
        world.wrong_with("results", "pack", "--before", "2100")
    for _ in range(draw.randrange(1, 4)):
        near = [*sorted(victim.rglob("*")), *sorted((world.home / "packs").glob("*"))]
        files = [file for file in near if stat.S_ISREG(file.lstat().st_mode)]
        if files:
            replaced(draw.choice(files), draw)
    if draw.random() < 0.1 and (world.home / "index.sqlite").exists():
        index = world.home / "index.sqlite"
        index.write_bytes(mutated(index.read_bytes(), draw))
    if draw.random() < 0.2:
        (runs / draw.choice(["a b", "20991231-000000-zzzz", "zz"])).mkdir()
    return [
        f"{victim.name}: {one}"
        for words in _questions(victim, draw)
        for one in world.wrong_with(*words)
    ] + world.changed()


def _questions(victim: Path, draw: Random) -> list[tuple[str, ...]]:
    name = victim.name
    asked = [
        ("list", "results"),
        ("show", name),
        ("show", name, "--results"),
        ("show", f"{name}/001", "--format", draw.choice(["json", "csv", "markdown"])),
        ("results", "rm", f"{name}/001", "--yes"),
        ("import", str(victim), "--home", str(victim.parents[2] / "work" / "other")),
    ]
    return [*draw.sample(asked, 3), ("list", "results", "--format", "csv")]


def file_fault(world: World, draw: Random) -> list[str]:
    """A file from elsewhere, for one of the readers."""
    files = readers.files(world.spare)
    name = draw.choice(sorted(files))
    path = world.work / name
    path.write_bytes(mutated(files[name], draw))
    with in_time():
        try:
            readers.READERS[path.suffix](path)
        except REFUSED:
            pass
        except BaseException:
            return [f"{name}: {traceback.format_exc()[-3000:]}"]
    return world.changed()


def _made_removable(remove: Callable[..., object], path: str, _: object) -> None:
    os.chmod(os.path.dirname(path), 0o700)
    with contextlib.suppress(OSError):
        remove(path)


FAULTS: dict[str, Fault] = {"process": process_fault, "folder": folder_fault, "file": file_fault}
FAULTS["archive"] = archive_fault
