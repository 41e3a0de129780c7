"""Limits, errors of the disk, damage and joining of archives that are unpacked."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import resource
import struct
import subprocess
import sys
import tarfile

import pytest

from assay.core import descriptors, unpacking
from assay.core.archive_members import MAX_HEADER
from assay.core.archives import unpack, unpack_folder
from assay.core.errors import AssayError, NotPossibleError
from tests.core.attack_archives import Entry, attacks, snapshot, write

UNPACK = "import sys; from pathlib import Path; from assay.core.archives import unpack; "
UNPACK += "unpack(Path(sys.argv[1]), Path(sys.argv[2]))"


@pytest.fixture
def target(tmp_path):
    folder = tmp_path / "target"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "mine").write_text("kept")
    (folder / "data" / "replaced").write_text("old")
    return folder


def refusal(archive, target):
    """The sentence and its hint; nothing in the target changes."""
    before = snapshot(target)
    with pytest.raises(AssayError) as caught:
        unpack(archive, target)
    assert snapshot(target) == before
    assert caught.value.hint
    return str(caught.value)


def test_harmless_links_are_made(tmp_path, target):
    archive = write(
        tmp_path / "a.tar.gz",
        [
            Entry("symlink", "data/early", "late/file"),
            Entry("file", "data/late/file", "1"),
            Entry("symlink", "data/late/up", "../../data/./late/"),
            Entry("hardlink", "same", "./data/late/file"),
        ],
    )

    unpack(archive, target)

    assert (target / "data/early").read_text() == "1"
    assert os.readlink(target / "data/late/up") == "../../data/./late/"
    assert (target / "same").samefile(target / "data/late/file")


def test_names_as_tar_writes_them_are_understood(tmp_path, target):
    names = [Entry("folder", "./"), Entry("folder", "./new/"), Entry("file", "./new//x", "1")]

    unpack(write(tmp_path / "a.tar", [*names, Entry("folder", "new")]), target)

    assert (target / "new" / "x").read_text() == "1"


def test_a_name_that_is_not_utf_8_keeps_its_bytes(tmp_path, target):
    unpack(write(tmp_path / "a.tar", [Entry("file", "gr\udcfcn", "1")]), target)

    assert b"gr\xfcn" in os.listdir(os.fsencode(target))


@pytest.mark.parametrize("file", ["a.tar", "a.zip"])
def test_only_the_right_to_execute_is_kept(tmp_path, target, file):
    unpack(write(tmp_path / file, [Entry("file", "program")]), target)

    umask = os.umask(0)
    os.umask(umask)
    assert (target / "program").stat().st_mode & 0o7777 == 0o777 & ~umask


@pytest.mark.parametrize("file", ["a.tar", "a.zip"])
def test_too_many_members_are_refused(tmp_path, target, monkeypatch, file):
    monkeypatch.setattr(unpacking, "MAX_MEMBERS", 3)
    archive = write(tmp_path / file, [Entry("file", name) for name in "abcd"])

    assert "'d' in it is one of more than 3." in refusal(archive, target)


@pytest.mark.parametrize("file", ["a.tar", "a.zip"])
def test_too_many_bytes_are_refused(tmp_path, target, monkeypatch, file):
    monkeypatch.setattr(unpacking, "MAX_BYTES", 1 << 20)
    archive = write(tmp_path / file, [Entry("file", name, "x" * 400_000) for name in "abc"])

    assert "'c' in it makes it larger than" in refusal(archive, target)


def test_the_limits_take_imagenet():
    assert unpacking.MAX_MEMBERS > 3 * 1_300_000
    assert unpacking.MAX_BYTES > 3 * 150e9


@pytest.mark.parametrize("attack", ["CVE-2025-4517", "a path that is too deep"])
def test_the_rule_for_links_does_not_need_the_limits(tmp_path, target, monkeypatch, attack):
    monkeypatch.setattr(unpacking, "MAX_PATH", 1 << 20)
    monkeypatch.setattr(unpacking, "MAX_DEPTH", 50 if "deep" in attack else 1 << 20)

    assert "is not unpacked" in refusal(write(tmp_path / "a.tar", attacks(target)[attack]), target)


@pytest.mark.parametrize("file", ["a.tar", "a.zip"])
def test_a_name_the_disk_does_not_take_is_one_sentence(tmp_path, target, file):
    archive = write(tmp_path / file, [Entry("file", "good"), Entry("file", "n" * 256)])

    said = refusal(archive, target)

    assert f"{archive} cannot be unpacked into {target} (File name too long: nnn" in said


def test_no_room_is_one_sentence(tmp_path, target):
    archive = write(tmp_path / "a.tar", [Entry("file", "large", "x" * 100_000)])
    before = snapshot(target)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    words = [sys.executable, "-c", UNPACK, str(archive), str(target)]
    done = subprocess.run(words, capture_output=True, text=True, preexec_fn=limit)

    assert "NotPossibleError" in done.stderr
    assert "cannot be unpacked into" in done.stderr and "(File too large: large)" in done.stderr
    assert snapshot(target) == before


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(NotPossibleError, match=r"cannot be unpacked into .* \(Not a directory"):
        unpack(write(tmp_path / "a.tar", [Entry("file", "x")]), tmp_path / "file" / "target")


@pytest.mark.parametrize("number", range(1, 6))
def test_an_error_while_joining_is_undone(tmp_path, target, monkeypatch, number):
    """Five renames: a new file, a replaced one (two renames), a new folder and a new file."""
    entries = [Entry("file", f"data/{name}") for name in ("new", "replaced", "sub/x")]
    archive = write(tmp_path / "a.tar", [*entries, Entry("file", "z")])
    rename, calls = os.rename, iter(range(1, 100))

    def fail(*args, **options):
        if next(calls) == number:
            raise OSError(30, "Read-only file system")
        rename(*args, **options)

    monkeypatch.setattr(descriptors.os, "rename", fail)

    assert "(Read-only file system)" in refusal(archive, target)


CONFLICTS = {
    "a file where a folder is": (Entry("file", "data"), "a folder of that name"),
    "a folder where a file is": (Entry("folder", "data/mine"), "a file of that name"),
    "a folder where a link is": (Entry("file", "link/x"), "a link of that name"),
}


@pytest.mark.parametrize("what", CONFLICTS)
def test_what_is_there_is_not_replaced_by_another_kind(tmp_path, target, what):
    entry, words = CONFLICTS[what]
    (target / "link").symlink_to("data")
    archive = write(tmp_path / "a.tar", [Entry("file", "before"), entry])

    assert words in refusal(archive, target)


def test_a_link_is_replaced_by_a_file_and_its_target_stays(tmp_path, target):
    (target / "link").symlink_to("data/mine")

    unpack(write(tmp_path / "a.tar", [Entry("file", "link", "new")]), target)

    assert (target / "link").read_text() == "new" and not (target / "link").is_symlink()
    assert (target / "data" / "mine").read_text() == "kept"


def test_a_dataset_s_folder_may_not_be_a_link(tmp_path, target):
    archive = write(tmp_path / "a.tar", [Entry("folder", "x"), Entry("symlink", "set", "x")])

    with pytest.raises(AssayError, match="a folder set was expected"):
        unpack_folder(archive, "set", target)


def test_a_dataset_does_not_replace_a_link(tmp_path, target):
    (target / "set").symlink_to("data")

    with pytest.raises(NotPossibleError, match="cannot be unpacked into"):
        unpack_folder(write(tmp_path / "a.tar", [Entry("file", "set/x")]), "set", target)

    assert sorted(os.listdir(target / "data")) == ["mine", "replaced"]


def header(name, kind, size):
    """A tar header, whose size may be negative as GNU tar writes large numbers."""
    info = tarfile.TarInfo(name)
    info.type = kind
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[124:136] = b"\xff" * 4 + struct.pack(">q", size) if size < 0 else b"%011o\0" % size
    block[148:156] = b"        "
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        (tarfile.REGTYPE, -512),
        (tarfile.GNUTYPE_LONGNAME, -1024),
        (tarfile.XHDTYPE, MAX_HEADER + 1),
        (tarfile.XGLTYPE, 1 << 32),
    ],
)
def test_a_header_that_makes_tarfile_loop_or_read_all_is_damage(tmp_path, target, kind, size):
    archive = tmp_path / "a.tar"
    archive.write_bytes(header("good", tarfile.REGTYPE, 0) + header("x", kind, size) + bytes(4096))

    assert f"a.tar cannot be unpacked (a header of it says {size} bytes" in refusal(archive, target)


@pytest.mark.parametrize(("name", "size"), [("a\0b", "1"), ("a", "-512")])
def test_a_pax_record_says_nothing_that_a_header_may_not(tmp_path, target, name, size):
    info = tarfile.TarInfo("x")
    info.pax_headers = {"path": name, "size": size}
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(info, io.BytesIO())

    assert "unpacked" in refusal(tmp_path / "a.tar", target)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_an_archive_cut_in_the_middle_keeps_its_sentence(tmp_path, target, compress):
    data = compress(plain_tar())
    (tmp_path / "a.tar.any").write_bytes(data[: len(data) // 2])

    assert "a.tar.any cannot be unpacked (" in refusal(tmp_path / "a.tar.any", target)


@pytest.mark.parametrize("compress", [bz2.compress, lzma.compress])
def test_a_damaged_block_keeps_its_sentence(tmp_path, target, compress):
    data = bytearray(compress(plain_tar()))
    third = len(data) // 3
    data[third : third + 50] = bytes(50)
    (tmp_path / "a.tar.any").write_bytes(data)

    assert "a.tar.any cannot be unpacked (" in refusal(tmp_path / "a.tar.any", target)


@pytest.mark.parametrize("harm", [slice(1024, 1040), slice(1100, None)])
def test_a_damaged_or_cut_header_is_not_the_end(tmp_path, target, harm):
    archive = write(tmp_path / "a.tar", [Entry("file", "first"), Entry("file", "second")])
    data = bytearray(archive.read_bytes())
    data[harm] = b"" if harm.stop is None else b"x" * 16
    archive.write_bytes(data)

    assert "a.tar cannot be unpacked (" in refusal(archive, target)


def plain_tar():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name in ("first", "second"):
            info = tarfile.TarInfo(name)
            info.size = 1 << 20
            tar.addfile(info, io.BytesIO(os.urandom(info.size)))
    return file.getvalue()
