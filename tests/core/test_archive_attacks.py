"""Hostile archives: nothing outside changes, nothing is left inside, and one sentence says why."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.core.attack_archives import TAR_ONLY, Entry, attacks, snapshot, write
from tests.core.interpreters import interpreters

ROOT = Path(__file__).parents[2]
UNPACK = """
import sys
from pathlib import Path
from assay.core.archives import unpack
from assay.core.errors import AssayError
for archive in sys.argv[2:]:
    try:
        unpack(Path(archive), Path(sys.argv[1]))
        print("unpacked")
    except AssayError as error:
        print(str(error))
        assert error.hint
"""
NAMES = sorted(attacks(Path("/target")))
ALL = [(name, "a.tar") for name in NAMES]
ALL += [(name, "a.zip") for name in NAMES if name not in TAR_ONLY]


@pytest.fixture
def target(tmp_path):
    """A folder with something in it, two folders below what must not change."""
    folder = tmp_path / "deep" / "root" / "target"
    folder.mkdir(parents=True)
    for place in (folder, folder.parent, folder.parents[1]):
        (place / "flag").write_text("precious")
    (folder / "mine").mkdir()
    (folder.parents[1] / "private").mkdir(mode=0o700)
    return folder


def answers(program: str, target: Path, *archives: Path) -> list[str]:
    """Of an interpreter without any package, for one archive after another."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [program, "-c", UNPACK, str(target), *map(str, archives)]
    done = subprocess.run(words, env=variables, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize("version", interpreters())
@pytest.mark.parametrize(("attack", "file"), ALL)
def test_an_attack_is_refused_in_one_sentence(target, tmp_path, version, attack, file):
    archive = write(tmp_path / file, attacks(target)[attack])
    before = snapshot(tmp_path)

    (answer,) = answers(interpreters()[version], target, archive)

    assert answer.startswith(f"{file} is not unpacked: '")
    assert answer.endswith(".")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("version", interpreters())
def test_a_second_archive_does_not_follow_a_link_of_the_first(target, tmp_path, version):
    first = [Entry("folder", "a/b"), Entry("symlink", "link", "a/b")]
    second = [Entry("file", "link/x")]
    archives = [write(tmp_path / "1.tar", first), write(tmp_path / "2.tar", second)]

    said = answers(interpreters()[version], target, *archives)

    assert said[0] == "unpacked"
    assert "2.tar cannot be unpacked" in said[1]
    assert "a link of that name is there already: link" in said[1]
    assert list((target / "a" / "b").iterdir()) == []
    assert sorted(os.listdir(target)) == ["a", "flag", "link", "mine"]


@pytest.mark.parametrize("kind", ["folder", "file"])
@pytest.mark.parametrize("version", interpreters())
def test_a_link_in_the_target_is_not_followed(target, tmp_path, version, kind):
    (target / "data").symlink_to(target.parent)
    archive = write(tmp_path / "a.tar", [Entry("file", "aaa"), Entry(kind, "data/private")])
    before = snapshot(tmp_path)

    (said,) = answers(interpreters()[version], target, archive)

    assert "a link of that name is there already: data" in said
    assert snapshot(tmp_path) == before
