"""Archives of datasets: the folder that is expected, or a refusal and nothing left behind."""

from __future__ import annotations

import io
import os
import tarfile

import pytest

from assay.core.archives import unpack_folder
from assay.core.errors import AssayError


def archive(path, *members):
    """A tar file of (name, content)."""
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def test_the_folder_is_unpacked_and_nothing_else_stays(tmp_path):
    file = archive(tmp_path / "a.tar", ("data/one", b"1"), ("data/deep/two", b"2"))

    found = unpack_folder(file, "data", tmp_path / "into")

    assert (found / "one").read_bytes() == b"1"
    assert (found / "deep" / "two").read_bytes() == b"2"
    assert os.listdir(tmp_path / "into") == ["data"]


def cut(path):
    whole = archive(path, ("data/one", os.urandom(100_000))).read_bytes()
    path.write_bytes(whole[:50_000])


BAD = {
    "cut": (cut, r"a\.tar\.gz cannot be unpacked"),
    "not an archive": (lambda path: path.write_text("<html>Sign in first</html>"), "cannot be"),
    "another one": (
        lambda path: archive(path, ("other/one", b"1")),
        "it holds other, but a folder data was expected",
    ),
    "hostile": (
        lambda path: archive(path, ("data/one", b"1"), ("../outside", b"x")),
        "'../outside' in it lies outside",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_archive_is_refused_and_nothing_is_left(tmp_path, what):
    make, words = BAD[what]
    make(tmp_path / "a.tar.gz")

    with pytest.raises(AssayError, match=words):
        unpack_folder(tmp_path / "a.tar.gz", "data", tmp_path / "into")

    assert os.listdir(tmp_path / "into") == []
    assert not (tmp_path / "outside").exists()
