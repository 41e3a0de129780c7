"""The source of a workload identifies its series, wherever its checkout is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest

import assay
from assay.core.records import Case, Query
from assay.core.series import SeriesKey, series_of
from assay.measure import source

WORK = "import helper\ndef work():\n    return lambda: sum(range(helper.N))\n"


def git(folder: Path, *words: str) -> str:
    name = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(
        ["git", *name, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def project(folder: Path, message: str = "first", repository: bool = True) -> Path:
    folder.mkdir(parents=True)
    (folder / "bench.py").write_text(WORK)
    (folder / "helper.py").write_text("import json\nN = 10\n")
    (folder / "other.py").write_text("")
    if repository:
        git(folder, "init", "-q")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", message)
    return folder


def measure(folder: Path, monkeypatch, text: str = "./bench.py:work@python"):
    monkeypatch.chdir(folder)
    (result,) = assay.run(text, samples=3, steps_per_sample=1)
    assert result.status == "ok", result.reason
    return result


def series_id(result) -> str:
    (stored,) = assay.read_results(Query(ids=(result.id,)))
    return series_of(stored.result).id


@pytest.mark.parametrize(
    "url",
    [
        "git@Example.org:team/bench.git",
        "ssh://git@example.org:2222/team/bench.git",
        "https://user:secret@example.org/team/bench",
        "https://example.org/team/bench.git/",
    ],
)
def test_spellings_of_a_remote_are_one_name_without_credentials(url):
    assert source.normalize_url(url) == "example.org/team/bench"


def test_a_local_remote_is_its_path():
    assert source.normalize_url("/srv/git/bench.git") == "/srv/git/bench"


def test_the_same_path_in_two_repositories_is_two_series(home, tmp_path, monkeypatch):
    first = measure(project(tmp_path / "a", "one"), monkeypatch)
    second = measure(project(tmp_path / "b", "two"), monkeypatch)

    assert first.case.key == second.case.key
    assert series_id(first) != series_id(second)
    assert len(assay.history("./bench.py:work@python")) == 2


def test_spellings_of_a_path_and_a_moved_checkout_are_one_series(home, tmp_path, monkeypatch):
    folder = project(tmp_path / "a")
    first = measure(folder, monkeypatch)
    second = measure(tmp_path, monkeypatch, f"{folder}/bench.py:work@python")
    moved = folder.rename(tmp_path / "moved")
    third = measure(moved, monkeypatch, "bench.py:work@python")

    assert len({series_id(result) for result in (first, second, third)}) == 1


def test_a_worktree_is_the_series_of_its_repository(home, tmp_path, monkeypatch):
    folder = project(tmp_path / "a")
    git(folder, "worktree", "add", "--detach", str(tmp_path / "tree"), "HEAD")

    assert series_id(measure(folder, monkeypatch)) == series_id(
        measure(tmp_path / "tree", monkeypatch)
    )


def test_without_a_repository_the_folder_identifies_it(home, tmp_path, monkeypatch):
    first = measure(project(tmp_path / "a", repository=False), monkeypatch)

    assert first.case.workload == "./bench.py:work"
    (stored,) = assay.read_results(Query(ids=(first.id,)))
    assert stored.result.source.repository == f"folder {tmp_path / 'a'}"
    assert stored.result.source.folder == str(tmp_path / "a")


def test_the_digest_is_of_the_file_and_what_it_imports(tmp_path):
    folder = project(tmp_path / "a")
    (folder / "helper.py").write_text("from package import part\nN = 10\n")
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("")
    (folder / "package" / "part.py").write_text("from . import __init__\n")

    files = source.file_digests(folder / "bench.py", folder)

    assert list(files) == ["bench.py", "helper.py", "package/__init__.py", "package/part.py"]
    assert all(len(digest) == 64 for digest in files.values())


def test_a_file_that_is_no_python_has_a_digest_of_its_own(tmp_path):
    (tmp_path / "bench.py").write_text("def work(:")

    assert list(source.file_digests(tmp_path / "bench.py", tmp_path)) == ["bench.py"]


def test_an_edited_file_outside_git_is_named_with_its_diff(home, tmp_path, monkeypatch):
    folder = project(tmp_path / "a", repository=False)
    first = measure(folder, monkeypatch)
    (folder / "helper.py").write_text("import json\nN = 10 * 2\n")
    second = measure(folder, monkeypatch)

    explanation = assay.explain(first.id, second.id)

    assert ("source", "helper.py") in [(cause.kind, cause.what) for cause in explanation.changed]
    (diff,) = explanation.diffs
    assert "-N = 10\n+N = 10 * 2" in diff


def test_a_result_is_measured_again_from_another_folder(home, tmp_path, monkeypatch):
    first = measure(project(tmp_path / "a"), monkeypatch)
    monkeypatch.chdir(tmp_path)
    (stored,) = assay.read_results(Query(ids=(first.id,)))

    case = source.located_case(stored.result)

    assert case.workload == f"{tmp_path / 'a'}/bench.py:work"
    assert [result.status for result in assay.run(case, samples=3)] == ["ok"]


@pytest.mark.parametrize(("commits", "continues"), [("own", True), ("foreign", False)])
def test_an_older_series_continues_in_the_repository_of_its_commits(
    home, tmp_path, monkeypatch, commits, continues
):
    folder = project(tmp_path / "a")
    head = git(folder, "rev-parse", "HEAD") if commits == "own" else "1" * 40
    first = measure(folder, monkeypatch)
    forget_source(home, first, head)
    old = series_id(first)

    second = measure(folder, monkeypatch)
    third = measure(folder, monkeypatch)

    assert (series_id(second) == old) is continues
    assert series_id(third) == series_id(second)
    notes = [note for series in assay.history("./bench.py:work") for note in series.notes]
    assert any("before repositories were stored" in note for note in notes) is not continues


def test_an_older_series_without_commits_continues_once(home, tmp_path, monkeypatch):
    first = measure(project(tmp_path / "a", "one"), monkeypatch)
    forget_source(home, first, "")
    old = series_id(first)

    second = measure(tmp_path / "a", monkeypatch)
    other = measure(project(tmp_path / "b", "two"), monkeypatch)
    third = measure(tmp_path / "a", monkeypatch)

    assert [series_id(each) == old for each in (second, other, third)] == [True, False, True]


def forget_source(home: Path, result, commit: str) -> None:
    """The result as assay stored it before it knew sources."""
    file = home / "runs" / result.id / "result.json"
    document = msgspec.json.decode(file.read_bytes())
    del document["source"]
    document["environment"]["git"] = {"commit": commit} if commit else {}
    file.write_bytes(msgspec.json.encode(document))
    for index in home.glob("index.sqlite*"):
        index.unlink()
    assay.history(result.case.key)  # its summary becomes a point again


def test_the_id_of_a_series_without_a_source_is_as_before():
    key = SeriesKey(workload="mnist-mlp", backend="jax", params={"batch_size": 64}, machine="m")

    assert key.id == "5f096954e5ab96c0"
    assert key.id != msgspec.structs.replace(key, source="example.org/a bench.py").id


def test_built_in_workloads_have_no_source():
    assert source.source_of(Case(workload="mnist-mlp", backend="jax")) is None
