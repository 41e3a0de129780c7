"""Archives of others: whole or refused, and never outside their folder."""

from __future__ import annotations

import io
import os
import tarfile

import pytest

from assay.datasets.unpack import unpack
from assay.errors import AssayError


def archive(path, *members, mode="w:gz"):
    """A tar file of (name, content) or whole TarInfo members."""
    with tarfile.open(path, mode) as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                name, content = member
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return path


def link(name, target, kind=tarfile.SYMTYPE):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_the_folder_is_unpacked_and_nothing_else_stays(tmp_path, mode):
    file = archive(tmp_path / "a.tar", ("data/one", b"1"), ("data/deep/two", b"2"), mode=mode)

    found = unpack(file, "data", tmp_path / "into")

    assert (found / "one").read_bytes() == b"1"
    assert (found / "deep" / "two").read_bytes() == b"2"
    assert os.listdir(tmp_path / "into") == ["data"]


@pytest.mark.parametrize(
    "member",
    [
        ("../outside", b"x"),
        ("data/../../outside", b"x"),
        ("/tmp/outside", b"x"),
        link("data/link", "/etc/passwd"),
        link("data/link", "one"),
        link("data/hard", "data/one", tarfile.LNKTYPE),
        link("data/pipe", "", tarfile.FIFOTYPE),
    ],
    ids=lambda member: member[0] if isinstance(member, tuple) else f"{member.name} {member.type}",
)
def test_a_hostile_member_is_refused_and_nothing_is_unpacked(tmp_path, member):
    file = archive(tmp_path / "a.tar.gz", ("data/one", b"1"), member)

    with pytest.raises(AssayError, match="a link, a device or outside its folder") as caught:
        unpack(file, "data", tmp_path / "into")

    assert "nothing was unpacked" in caught.value.hint
    assert os.listdir(tmp_path / "into") == []
    assert not (tmp_path / "outside").exists()


def test_a_cut_archive_is_refused(tmp_path):
    file = archive(tmp_path / "a.tar.gz", ("data/one", os.urandom(100_000)))
    file.write_bytes(file.read_bytes()[:50_000])

    with pytest.raises(AssayError, match=r"a\.tar\.gz is cut or wrong: unpacking it failed"):
        unpack(file, "data", tmp_path / "into")

    assert os.listdir(tmp_path / "into") == []


def test_a_file_that_is_no_archive_is_refused(tmp_path):
    (tmp_path / "a.tar.gz").write_text("<html>Sign in first</html>")

    with pytest.raises(AssayError, match="a tar archive with a folder data was expected"):
        unpack(tmp_path / "a.tar.gz", "data", tmp_path / "into")


def test_another_archive_is_refused(tmp_path):
    file = archive(tmp_path / "a.tar.gz", ("other/one", b"1"))

    with pytest.raises(AssayError, match="it holds other, but a folder data was expected"):
        unpack(file, "data", tmp_path / "into")
