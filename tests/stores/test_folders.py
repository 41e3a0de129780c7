"""Run folders: whole or not at all."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from assay.core.errors import StoreError
from assay.core.files import write_atomic
from assay.core.records import Plan
from assay.stores import folders
from assay.stores.read import read_results
from tests.stores.test_sqlite import CASE, result


@pytest.fixture
def small_disk(tmp_path):
    """A real file system of one megabyte."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("needs the right to mount a small disk")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.real("root")
def test_a_full_disk_leaves_no_half_file(small_disk):
    path = small_disk / "result.json"

    with pytest.raises(OSError, match="No space left"):
        write_atomic(path, b"x" * 2_000_000)

    assert list(small_disk.iterdir()) == []


@pytest.mark.real("root")
def test_a_result_that_does_not_fit_is_saved_elsewhere(small_disk):
    run = folders.new_run(small_disk / "runs", Plan(cases=(CASE,)))
    place = folders.new_case(run)
    made = result(run.name, reason="y" * 2_000_000)

    with pytest.raises(StoreError, match="No space left") as caught:
        folders.write_result(place.folder, made)

    spare = Path(caught.value.hint.rpartition("assay import ")[2])
    assert folders.read_result(spare / "001") == made


@pytest.mark.real("root")
def test_a_full_disk_keeps_earlier_results_and_says_so(small_disk, assay, endings):
    # slower steps and a short warm-up, of which every step is kept: it must fit on any machine
    slow = f"{endings}:fine:size=20000@python"
    words = ("run", slow, "--home", str(small_disk), "--budget", "200ms", "--samples")
    assert assay(*words, "3")[0] == 0
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (shutil.disk_usage(small_disk).free - 80_000))

    status, _, error = assay(*words, "3000")

    assert status == 4
    assert "No space left" in error
    assert error.count("error:") == 1
    filler.unlink()
    assert len(read_results(store=small_disk)) == 1


def test_case_folders_are_counted_on(tmp_path):
    run = folders.new_run(tmp_path, Plan(cases=(CASE,)))

    assert [folders.new_case(run).id for _ in range(3)] == [
        f"{run.name}/{number}" for number in ("001", "002", "003")
    ]


def test_a_plan_comes_back_as_it_was(tmp_path):
    plan = Plan(cases=(CASE,), label="a", tags={"b": "c"})

    assert folders.read_plan(folders.new_run(tmp_path, plan)) == plan


FILLS = """
import assay

class Fills(assay.Benchmark):
    def benchmark_disk(self):
        self.report_benchmark(wall_time=0.5)
        with open({file!r}, "wb", buffering=0) as file:
            while file.write(bytes(100)):
                pass
"""


@pytest.mark.real("root")
def test_a_benchmark_that_fills_the_disk_is_saved_elsewhere(small_disk, tmp_path, assay):
    filler = small_disk / "filler"
    (tmp_path / "filling.py").write_text(FILLS.format(file=str(filler)))
    home = ("--home", str(small_disk))
    words = ("bench", "run", "filling.Fills.benchmark_disk", "--python-path", str(tmp_path))

    status, _, error = assay(*words, *home)
    filler.unlink()
    spare = error.partition("assay import ")[2].split()[0]

    assert (status, assay("import", spare, *home)[0]) == (4, 0)
    assert [one.result.values("wall_time") for one in read_results(store=small_disk)] == [(0.5,)]
