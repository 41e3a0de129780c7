"""Git repositories of benchmarks: in which order, from a real bare repository, and never robbed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assay.core.errors import AssayError, UsageError
from assay.formats.perfzero.setup import repositories
from assay.measure.git import check_out

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *IDENTITY, *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(folder: Path, text: str) -> str:
    (folder / "bench.py").write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-m", text)
    git(folder, "push", "origin", "HEAD")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def origin(tmp_path):
    """A bare repository, and a clone to commit from: (url, clone, first commit)."""
    bare, work = tmp_path / "models.git", tmp_path / "work"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", bare], check=True)
    subprocess.run(["git", "clone", "-q", bare, work], check=True, capture_output=True)
    git(work, "checkout", "-b", "main")
    return str(bare), work, commit(work, "first")


def one(text: str, folder: Path):
    return repositories(text, folder)[0]


def test_the_order_is_clone_checkout_pull_reset(tmp_path):
    asked = []

    def fake(*words, folder=None):
        asked.append(words)
        return f"{words[0]}-said"

    info = check_out(one("https://h/models.git;branch;abc", tmp_path), git=fake)

    changing = [words for words in asked if words[0] not in {"config", "rev-parse"}]
    assert changing == [
        ("clone", "--", "https://h/models.git", str(tmp_path / "models")),
        ("checkout", "branch"),
        ("pull", "--rebase"),
        ("reset", "--hard", "abc"),
    ]
    assert info == {"url": "config-said", "branch": "rev-parse-said", "hash": "rev-parse-said"}


def test_a_clone_tells_url_branch_and_hash(origin, tmp_path):
    url, _, first = origin

    assert check_out(one(f"{url};main", tmp_path / "site")) == {
        "url": url,
        "branch": "main",
        "hash": first,
    }


def test_a_checkout_is_updated_unless_it_is_cached(origin, tmp_path):
    url, work, first = origin
    check_out(one(url, tmp_path / "site"))
    second = commit(work, "second")

    assert check_out(one(url, tmp_path / "site"), cached=True)["hash"] == first
    assert check_out(one(url, tmp_path / "site"))["hash"] == second


def test_a_hash_is_reached_also_backwards_and_from_a_cache(origin, tmp_path):
    url, work, first = origin
    second = commit(work, "second")
    repository = one(f"{url};main;{first}", tmp_path / "site")

    assert check_out(repository)["hash"] == first
    newer = one(f"{url};main;{second}", tmp_path / "site")
    assert check_out(newer, cached=True)["hash"] == second


def test_a_tag_is_a_branch_one_cannot_pull(origin, tmp_path):
    url, work, first = origin
    git(work, "tag", "v1")
    git(work, "push", "origin", "v1")

    for _ in range(2):
        assert check_out(one(f"{url};v1", tmp_path / "site"))["hash"] == first


def test_edits_are_kept_and_recorded(origin, tmp_path):
    url, work, first = origin
    check_out(one(url, tmp_path / "site"))
    edited = tmp_path / "site" / "models" / "bench.py"
    edited.write_text("my own")
    second = commit(work, "second")

    info = check_out(one(f"{url};main;{second}", tmp_path / "site"))

    assert edited.read_text() == "my own"
    assert (info["dirty"], info["hash"]) == (True, first)


def test_commits_that_no_remote_has_are_kept_too(origin, tmp_path):
    url, _, first = origin
    check_out(one(url, tmp_path / "site"))
    mine = tmp_path / "site" / "models"
    (mine / "bench.py").write_text("my own")
    git(mine, "commit", "-am", "mine")

    info = check_out(one(f"{url};main;{first}", tmp_path / "site"))

    assert (mine / "bench.py").read_text() == "my own"
    assert info["dirty"] is True


def test_a_name_with_blanks_and_quotes_is_no_command(origin, tmp_path):
    url, _, first = origin
    odd = tmp_path / "it's; $(touch hacked) here.git"
    Path(url).rename(odd)

    assert check_out(repositories_of(odd, tmp_path / "site"))["hash"] == first
    assert not (tmp_path / "hacked").exists()


def repositories_of(path: Path, folder: Path):
    """Not through the text form: its parts are parted by semicolons."""
    from assay.formats.perfzero.setup import Repository

    return Repository(url=str(path), name="odd", folder=folder / "odd name")


def test_what_git_refuses_is_said_in_its_words(tmp_path):
    with pytest.raises(AssayError, match=r"git clone failed: .*nowhere"):
        check_out(one(str(tmp_path / "nowhere.git"), tmp_path / "site"))


def test_a_folder_with_another_repository_is_not_touched(origin, tmp_path):
    url, *_ = origin
    check_out(one(url, tmp_path / "site"))

    with pytest.raises(UsageError, match="is a checkout of"):
        check_out(one("https://elsewhere/models.git", tmp_path / "site"))
