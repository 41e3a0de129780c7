"""Bisections in real processes: commits, versions of a package, what does not build, resuming."""

from __future__ import annotations

import zipfile

import pytest

import assay
from assay.commands.bisect import api
from assay.commands.bisect.api import BisectStep
from assay.core.errors import UsageError
from tests.commands.check.test_confirm import git

QUICK = {"budget": "3s", "minimum": "20%"}


def write(folder, milliseconds: float, more: str = "") -> None:
    step = f"    return lambda: time.sleep({milliseconds} / 1000)\n"
    (folder / "work.py").write_text(f"import time\n{more}\n\ndef work():\n{step}")


@pytest.fixture
def commits(tmp_path, monkeypatch) -> list[str]:
    """Five commits: the fourth is twice as slow, the third does not even load."""
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    made = []
    for number, milliseconds in enumerate((2, 2, 2, 4, 4)):
        write(tmp_path, milliseconds, "raise OSError('broken')" if number == 2 else f"# {number}")
        git("add", "work.py")
        git("commit", "-qm", f"commit {number}")
        made.append(git("rev-parse", "HEAD"))
    return made


def test_the_commit_is_found_and_what_does_not_load_is_skipped(commits):
    steps = list(assay.bisect("work.py:work@python", commits[0], commits[-1], **QUICK))

    last = steps[-1]
    assert last.ended.startswith("decided")
    assert last.suspects == (commits[2], commits[3])  # the third cannot be told from the fourth
    assert last.chance >= 0.95
    assert {one.verdict for one in last.tried if one.place == 2} <= {"skipped"}
    assert 1.5 < last.effect < 2.5


def test_a_bisection_goes_on_where_it_was_interrupted(commits):
    begun = assay.bisect("work.py:work@python", commits[0], commits[-1], **QUICK)
    first = next(begun)
    begun.close()

    last = list(api.resume(first.run))[-1]

    assert last.tried[0] == first.tried[0]
    assert last.ended.startswith("decided")
    assert api.load_bisection(first.run).suspects == last.suspects


def test_ends_that_could_not_be_told_apart_are_compared_again_when_it_goes_on(commits, monkeypatch):
    unsure = BisectStep(
        place=4, name=commits[4], verdict="cannot-tell", text="undecided", ratio=1.1
    )
    with monkeypatch.context() as patch:
        patch.setattr(api, "_try_revision", lambda *_: unsure)
        (first,) = assay.bisect("work.py:work@python", commits[0], commits[-1], **QUICK)
    again = next(api.resume(first.run))

    assert first.ended.startswith("the ends cannot be distinguished")
    assert [one.place for one in again.tried] == [4, 4]
    assert 1.5 < again.effect < 2.5 and not again.ended


def test_ends_that_do_not_differ_are_said(commits):
    steps = assay.bisect(
        "work.py:work@python", commits[0], commits[1], budget="20s", min_effect="50%"
    )

    (found,) = steps

    assert api.update_posterior(found, None).ended.startswith("undecided")
    assert found.ended.startswith("the ends are the same")
    assert found.suspects == ()


def test_a_build_command_runs_in_each_checkout_and_its_failure_is_skipped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    made = []
    for number, milliseconds in enumerate((2, 4, 4)):
        (tmp_path / "made.sh").write_text(
            f"echo MS = {milliseconds} > speed.py" if number != 1 else "exit 3"
        )
        (tmp_path / "work.py").write_text(
            "import time\nfrom pathlib import Path\n\n\ndef work():\n"
            "    text = (Path(__file__).parent / 'speed.py').read_text()\n"
            "    return lambda: time.sleep(float(text.split()[-1]) / 1000)\n"
        )
        git("add", ".")
        git("commit", "-qm", f"commit {number}")
        made.append(git("rev-parse", "HEAD"))

    last = list(
        assay.bisect("work.py:work@python", made[0], made[-1], build="sh made.sh", **QUICK)
    )[-1]

    assert last.suspects == (made[1], made[2])
    (skipped,) = [one for one in last.tried if one.verdict == "skipped"]
    assert "Failed to build with 'sh made.sh'" in skipped.text


def wheel(folder, version: str, milliseconds: float) -> None:
    """A wheel by hand: no tool is needed to build it."""
    info = f"slowly-{version}.dist-info"
    with zipfile.ZipFile(folder / f"slowly-{version}-py3-none-any.whl", "w") as file:
        file.writestr("slowly/__init__.py", f"SECONDS = {milliseconds / 1000}\n")
        file.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: slowly\nVersion: {version}\n"
        )
        file.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        file.writestr(f"{info}/RECORD", "")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Three small versions of a package, the third slow, in an index of our own."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for version, milliseconds in (("1.0", 2), ("1.1", 2), ("2.0", 4)):
        wheel(wheels, version, milliseconds)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    (tmp_path / "work.py").write_text(
        "import time\n\n\ndef work():\n    import slowly\n"
        "    return lambda: time.sleep(slowly.SECONDS)\n"
    )
    monkeypatch.chdir(tmp_path)


def test_the_version_of_a_package_is_found(package):
    last = list(assay.bisect("work.py:work@python", "slowly==1.0", "slowly==2.0", **QUICK))[-1]

    assert (last.what, last.package, last.names) == ("package", "slowly", ("1.0", "1.1", "2.0"))
    assert last.suspects == ("2.0",)
    assert last.ended.startswith("decided")


@pytest.mark.parametrize(
    ("good", "bad", "text"),
    [
        ("nowhere", "HEAD", "no commit 'nowhere'"),
        ("HEAD", "HEAD~2", "does not come after"),
        ("HEAD", "HEAD", "are the same commit"),
        ("HEAD", "slowly==1.0", "not of the same kind"),
        ("slowly==1.0", "other==1.0", "are two packages"),
    ],
)
def test_ends_that_cannot_be_are_one_sentence(commits, good, bad, text):
    with pytest.raises(UsageError, match=text):
        assay.bisect("work.py:work@python", good, bad)


def test_a_version_that_is_not_there_names_those_that_are(package):
    with pytest.raises(UsageError, match=r"no slowly==9\.9") as caught:
        assay.bisect("work.py:work@python", "slowly==1.0", "slowly==9.9")
    assert caught.value.hint == "It has: 1.0, 1.1, 2.0."
