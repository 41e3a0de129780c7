from __future__ import annotations

import io
import tarfile
import zipfile

import pytest

from assay.core.archives import unpack
from assay.core.errors import AssayError


def tar(path, *members, mode="w:gz"):
    """Members are (name, content) or a TarInfo."""
    with tarfile.open(path, mode) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return path


def special(name, kind, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.mark.parametrize(("suffix", "mode"), [("gz", "w:gz"), ("bz2", "w:bz2"), ("xz", "w:xz")])
def test_a_good_archive_lands_in_the_folder(tmp_path, suffix, mode):
    archive = tar(tmp_path / f"a.tar.{suffix}", ("d/x", b"1"), ("y", b"2"), mode=mode)

    unpack(archive, tmp_path / "out")

    assert (tmp_path / "out/d/x").read_bytes() == b"1"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["d", "y"]


def test_links_inside_are_kept(tmp_path):
    archive = tar(
        tmp_path / "a.tar.gz", ("d/x", b"1"), special("d/link", tarfile.SYMTYPE, "../d/x")
    )

    unpack(archive, tmp_path / "out")

    assert (tmp_path / "out/d/link").read_bytes() == b"1"


def test_folders_that_are_there_are_joined(tmp_path):
    (tmp_path / "out/d").mkdir(parents=True)
    (tmp_path / "out/d/mine").write_text("kept")

    unpack(tar(tmp_path / "a.tar.gz", ("d/x", b"1")), tmp_path / "out")

    assert (tmp_path / "out/d/mine").read_text() == "kept"
    assert (tmp_path / "out/d/x").exists()


HOSTILE = {
    "a path that climbs": ("../evil", b"x"),
    "a path that climbs within": ("a/../../evil", b"x"),
    "an absolute path": ("/tmp/assay-evil", b"x"),
    "a link to the outside": special("link", tarfile.SYMTYPE, "../.."),
    "an absolute link": special("link", tarfile.SYMTYPE, "/etc"),
    "a hard link to the outside": special("link", tarfile.LNKTYPE, "../../etc/passwd"),
    "a device": special("device", tarfile.CHRTYPE),
    "a pipe": special("pipe", tarfile.FIFOTYPE),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_archive_leaves_nothing_behind(tmp_path, what):
    archive = tar(tmp_path / "a.tar.gz", ("good", b"1"), HOSTILE[what])

    with pytest.raises(AssayError, match="is not unpacked"):
        unpack(archive, tmp_path / "deep" / "out")

    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.tar.gz", "deep", "out"]


@pytest.mark.parametrize("name", ["../evil", "/tmp/assay-evil", "a\\..\\evil"])
def test_a_hostile_zip_leaves_nothing_behind(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("good", "1")
        archive.writestr(name, "x")

    with pytest.raises(AssayError, match="is not unpacked"):
        unpack(tmp_path / "a.zip", tmp_path / "out")

    assert not list((tmp_path / "out").iterdir())


def test_a_good_zip_lands_in_the_folder(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("d/x", "1")

    unpack(tmp_path / "a.zip", tmp_path / "out")

    assert (tmp_path / "out/d/x").read_text() == "1"


def test_a_damaged_archive_is_an_error_and_leaves_nothing(tmp_path):
    whole = tar(tmp_path / "a.tar.gz", ("x", bytes(range(256)) * 400)).read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(whole[: len(whole) // 2])

    with pytest.raises(AssayError, match="cannot be unpacked"):
        unpack(tmp_path / "cut.tar.gz", tmp_path / "out")

    assert not list((tmp_path / "out").iterdir())


def test_a_name_that_is_no_text_is_damage(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as pack:
        pack.writestr("grün.txt", "x")
    data = (tmp_path / "a.zip").read_bytes().replace("grün".encode(), b"gr\xb2\xb2n")
    (tmp_path / "a.zip").write_bytes(data)

    with pytest.raises(AssayError, match=r"a\.zip cannot be unpacked"):
        unpack(tmp_path / "a.zip", tmp_path / "out")


def test_a_zip_that_needs_a_newer_reader_is_refused_like_damage(tmp_path):
    """The central record's `version needed`, which a flipped bit may make 20.6."""
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("x", b"1")
    data = bytearray(archive.read_bytes())
    data[data.index(b"PK\x01\x02") + 6] = 206
    archive.write_bytes(data)

    with pytest.raises(AssayError, match=r"a\.zip cannot be unpacked"):
        unpack(archive, tmp_path / "out")
