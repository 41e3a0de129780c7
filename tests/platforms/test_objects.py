"""Objects: a folder, Google Cloud Storage by an emulator, S3 by another."""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path

import pytest

from assay.commands.bench.fetch import fetch_if_missing
from assay.core import objects
from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.objects import ServiceUnavailableError
from assay.formats.perfzero.setup import downloads
from tests.platforms.services import forwarding, serving


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "run" / "001"
    (folder / "output").mkdir(parents=True)
    (folder / "result.json").write_text('{"a": 1}')
    (folder / "output" / "ünï code 100%.txt").write_bytes(bytes(range(256)) * 40)
    (folder / "empty").touch()
    (folder / "link").symlink_to("/etc/hostname")
    return folder


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


@pytest.mark.real("fsspec")
def test_a_folder_takes_every_file_but_no_link(files, tmp_path):
    assert objects.put_folder(files, objects.check_place(str(tmp_path / "there"))) == 3

    assert contents(tmp_path / "there") == contents(files)


@pytest.mark.real("gcsfs")
def test_google_cloud_storage_has_the_same_files_and_gives_them_back(
    files, tmp_path, storage_emulator, monkeypatch
):
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{storage_emulator}")

    objects.put_folder(files, objects.check_place("gs://bench/nightly/001/"))
    (wanted,) = downloads("gs://bench/nightly/001/*;data", tmp_path / "root")
    assert fetch_if_missing(wanted, print)
    objects.fetch("gs://bench/nightly/001/result.json", tmp_path / "one")

    assert contents(tmp_path / "root" / "data") == contents(files)
    assert (tmp_path / "one").read_text() == '{"a": 1}'
    with pytest.raises(AssayError, match="There is no gs://bench/nowhere"):
        objects.fetch("gs://bench/nowhere", tmp_path / "two")


@pytest.mark.real("gcsfs")
def test_a_storage_that_is_cut_is_asked_again_and_one_that_refuses_is_said(
    files, tmp_path, storage_emulator, monkeypatch
):
    import gcsfs.retry

    at_once = functools.partial(asyncio.sleep, 0)
    monkeypatch.setattr(gcsfs.retry.asyncio, "sleep", lambda _: at_once())
    with serving(forwarding("127.0.0.1", storage_emulator)) as (faulty, address):
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
        faulty.faults, faulty.only = [503, "cut-after"], "upload"
        assert objects.put_folder(files, "gs://bench/cut") == 3
        objects.fetch("gs://bench/cut/result.json", tmp_path / "back")
        assert (tmp_path / "back").read_text() == '{"a": 1}'

        faulty.faults, faulty.only = [403] * 9, ""
        with pytest.raises(NotPossibleError, match="no permission for gs://bench/x"):
            objects.put_folder(files, "gs://bench/x")

        faulty.faults = ["cut-before"] * 99
        with pytest.raises(ServiceUnavailableError, match="cannot be reached"):
            objects.put_folder(files, "gs://bench/x")


@pytest.mark.long
@pytest.mark.real("s3fs")
def test_s3_has_the_same_files_and_gives_them_back(files, tmp_path, s3):
    assert objects.put_folder(files, f"{s3}/a") == 3
    objects.fetch(f"{s3}/a", tmp_path / "back")

    assert contents(tmp_path / "back") == contents(files)
    with pytest.raises(AssayError, match="no-such-bucket"):
        objects.put_folder(files, "s3://no-such-bucket/a")


def bucket_of(*names):
    """A file system of fsspec with these objects: keys of a bucket may be any text."""
    import fsspec

    class Bucket(fsspec.AbstractFileSystem):
        def ls(self, path, detail=True, **_):
            return [{"name": path, "size": 4, "type": "directory"}]

        def find(self, path, **_):
            return [f"{path}/{name}" for name in names]

        def get_file(self, rpath, lpath, **_):
            Path(lpath).parent.mkdir(parents=True, exist_ok=True)
            Path(lpath).write_bytes(b"evil")

    return Bucket(skip_instance_cache=True)


@pytest.mark.real("fsspec")
@pytest.mark.parametrize("name", ["../../evil", "a/../../../evil", "..", "a\\..\\evil"])
def test_an_object_whose_name_leads_outside_is_not_fetched(tmp_path, monkeypatch, name):
    monkeypatch.setattr(objects, "_system", lambda _: bucket_of("good", name))

    with pytest.raises(AssayError, match="would lie outside"):
        objects.fetch("gs://bench/x", tmp_path / "deep" / "target")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.real("fsspec")
def test_all_objects_below_a_prefix_are_fetched(tmp_path, monkeypatch):
    monkeypatch.setattr(objects, "_system", lambda _: bucket_of("a", "b/c", "b/d/e", "folder/"))

    objects.fetch("gs://bench/x", tmp_path / "target")

    assert sorted(contents(tmp_path / "target")) == ["a", "b/c", "b/d/e"]


@pytest.mark.parametrize(
    "place",
    ["", "gs://", "gs://$(id)/x", "gs://UPPER", "s3://a/../b", "ftp://x", "s3://k:s@bucket/x"],
)
def test_what_is_no_place_is_refused(place):
    with pytest.raises(UsageError, match="is not a location for objects"):
        objects.check_place(place)
