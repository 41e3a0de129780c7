from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.formats.perfzero.setup import downloads, repositories

FOLDER = Path("/workspace/site-packages")


def test_repositories_have_a_url_and_perhaps_branch_and_hash():
    first, second, third = repositories(
        "https://github.com/a/models.git;branch_1;hash_1,https://b/benchmarks.git;branch_2,c/d",
        FOLDER,
    )

    assert (first.name, first.folder) == ("models", FOLDER / "models")
    assert (first.url, first.branch, first.commit) == (
        "https://github.com/a/models.git",
        "branch_1",
        "hash_1",
    )
    assert (second.name, second.branch, second.commit) == ("benchmarks", "branch_2", "")
    assert (third.name, third.branch, third.commit) == ("d", "", "")


@pytest.mark.parametrize("url", ["git@github.com:models.git", "git@host:a/models.git"])
def test_a_folder_is_named_after_the_last_part_of_any_url(url):
    assert repositories(url, FOLDER)[0].name == "models"


@pytest.mark.parametrize(
    "text", ["url;branch;hash;more", ";branch", "--upload-pack=x;b", "u/r;--orphan", "https://h/.."]
)
def test_a_repository_git_would_misread_is_refused(text):
    with pytest.raises(UsageError):
        repositories(text, FOLDER)


def test_downloads_have_a_url_and_a_path_below_the_data_folder():
    first, second, third = downloads(
        "gs://bucket/a*;x/y,https://host/dir/b.tar.gz;sha256=AB,file:///c/;c;sha256=cd",
        Path("/data"),
    )

    assert (first.url, first.path) == ("gs://bucket/a", Path("/data/x/y"))
    assert (second.path, second.sha256) == (Path("/data/b.tar.gz"), "ab")
    assert (third.url, third.path, third.sha256) == ("file:///c", Path("/data/c"), "cd")


@pytest.mark.parametrize("text", ["https://h/a;../b", "https://h/a;/etc/x", "https://h", "u;a;b"])
def test_a_download_that_would_lie_elsewhere_is_refused(text):
    with pytest.raises(UsageError):
        downloads(text, Path("/data"))
