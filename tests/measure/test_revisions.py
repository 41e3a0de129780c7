"""What lies between two ends. Real bisections are in tests/commands/bisect/test_bisect.py."""

from __future__ import annotations

import subprocess
import zipfile

import pytest

from assay.core.errors import UsageError
from assay.core.records import Case
from assay.measure import revisions
from tests.commands.history.test_history import repository


def test_commits_between_are_in_order_with_both_ends(tmp_path):
    made = repository(tmp_path, 4)
    (tmp_path / "w.py").touch()
    case = Case(workload=f"{tmp_path}/w.py:work", backend="python")

    found = revisions.find_revisions(case, made[1], made[3])

    assert found == revisions.Revisions("commit", "", tuple(made[1:]))


def test_a_build_that_fails_says_its_last_line(tmp_path):
    revisions.build("touch here", tmp_path)
    assert (tmp_path / "here").exists()

    with pytest.raises(revisions.BuildError, match=r"Failed to build with .*: no good"):
        revisions.build("sh -c 'echo no good >&2; exit 1'", tmp_path)
    with pytest.raises(UsageError, match="'nosuchprogram' was not found"):
        revisions.build("nosuchprogram", tmp_path)


def wheel(folder, name: str, version: str, needs: str = "") -> None:
    info = f"{name}-{version}.dist-info"
    needed = f"Requires-Dist: {needs}\n" if needs else ""
    texts = {
        f"{name}/__init__.py": f"VERSION = '{version}'\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        for path, text in texts.items():
            file.writestr(path, text)


def test_a_version_brings_what_it_needs_and_nothing_that_is_here(tmp_path, monkeypatch):
    """As jax needs the jaxlib of its own version."""
    for version in ("1.0", "2.0"):
        wheel(tmp_path, "upper", version, f"lower=={version}")
        wheel(tmp_path, "lower", version, "msgspec")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))

    place = revisions.environment(tmp_path / "made", "upper", "1.0")

    said = subprocess.run(
        [place / "bin" / "python", "-c", "import upper, lower, msgspec; print(lower.VERSION)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "1.0\n"
    assert not list(place.rglob("msgspec"))
