"""Data for benchmarks, from a real server on loopback that misbehaves, and from files."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from assay.commands.bench.fetch import fetch_if_missing
from assay.core.errors import AssayError, UsageError
from assay.formats.perfzero.setup import Download, downloads

BODY = bytes(range(256)) * 4096


def archive(*names: str) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 3
            tar.addfile(info, io.BytesIO(b"abc"))
    return file.getvalue()


FILES = {
    "/whole.bin": BODY,
    "/cut.bin": BODY,
    "/good.tar.gz": archive("data/x", "data/y"),
    "/evil.tar.gz": archive("good", "../evil"),
    "/same.gz": archive("same.gz/x"),
    "/page.tar.gz": b"<html>not found</html>",
    "/half.tar.gz": archive("data/x", "data/y")[:60],
    "/plain.gz": b"no archive at all",
}


class Handler(BaseHTTPRequestHandler):
    """Serves FILES with ranges; the first answer for /cut.bin ends after a third."""

    asked: list[tuple[str, str]]

    def do_GET(self) -> None:
        span = self.headers.get("Range", "")
        self.server.asked.append((self.path, span))  # type: ignore[attr-defined]
        if self.path not in FILES:
            self.send_error(404)
            return
        body = FILES[self.path]
        start = int(span.removeprefix("bytes=").removesuffix("-")) if span else 0
        self.send_response(206 if span else 200)
        if span:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.send_header("ETag", '"one"')
        self.end_headers()
        end = len(body) // 3 if self.path == "/cut.bin" and not span else len(body)
        self.wfile.write(body[start:end])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.asked = []  # type: ignore[attr-defined]
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture
def url(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_port}"


def ignore(*_: object) -> None:
    pass


def test_a_file_is_fetched_whole_with_progress_and_only_once(server, url, tmp_path):
    wanted = Download(url=f"{url}/whole.bin", path=tmp_path / "deep" / "whole.bin")
    seen: list[int] = []

    assert fetch_if_missing(wanted, lambda name, done, total: seen.append(done))
    assert not fetch_if_missing(wanted, ignore)

    assert wanted.path.read_bytes() == BODY
    assert seen[-1] == len(BODY)
    assert len(server.asked) == 1
    assert [path.name for path in wanted.path.parent.iterdir()] == ["whole.bin"]


def test_what_is_not_there_is_an_error_and_no_data(url, tmp_path):
    wanted = Download(url=f"{url}/missing.bin", path=tmp_path / "missing.bin")

    with pytest.raises(AssayError, match="404 Not Found"):
        fetch_if_missing(wanted, ignore)

    assert not wanted.path.exists()


def test_a_connection_that_was_cut_goes_on_where_it_ended(server, url, tmp_path, monkeypatch):
    monkeypatch.setattr("time.sleep", ignore)
    wanted = Download(url=f"{url}/cut.bin", path=tmp_path / "cut.bin")

    fetch_if_missing(wanted, ignore)

    assert wanted.path.read_bytes() == BODY
    assert server.asked == [("/cut.bin", ""), ("/cut.bin", f"bytes={len(BODY) // 3}-")]


def test_a_wrong_checksum_is_refused_and_a_right_one_is_not(url, tmp_path):
    path = tmp_path / "whole.bin"
    right = hashlib.sha256(BODY).hexdigest()

    with pytest.raises(AssayError, match="checksum"):
        fetch_if_missing(Download(url=f"{url}/whole.bin", path=path, sha256="0" * 64), ignore)

    assert not path.exists()
    assert fetch_if_missing(Download(url=f"{url}/whole.bin", path=path, sha256=right), ignore)


def test_an_archive_is_unpacked_beside_itself(url, tmp_path):
    fetch_if_missing(Download(url=f"{url}/good.tar.gz", path=tmp_path / "good.tar.gz"), ignore)

    assert (tmp_path / "data" / "x").read_bytes() == b"abc"
    assert (tmp_path / "good.tar.gz").is_file()


def test_an_archive_may_hold_a_folder_of_its_own_name(url, tmp_path):
    fetch_if_missing(Download(url=f"{url}/same.gz", path=tmp_path / "same.gz"), ignore)

    assert (tmp_path / "same.gz" / "x").is_file()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_hostile_archive_leaves_nothing(url, tmp_path):
    folder = tmp_path / "data"

    with pytest.raises(AssayError, match="is not unpacked"):
        fetch_if_missing(Download(url=f"{url}/evil.tar.gz", path=folder / "evil.tar.gz"), ignore)

    assert list(folder.iterdir()) == []
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("name", ["page.tar.gz", "half.tar.gz"])
def test_a_broken_archive_is_not_there(url, tmp_path, name):
    folder = tmp_path / "data"

    with pytest.raises(AssayError):
        fetch_if_missing(Download(url=f"{url}/{name}", path=folder / name), ignore)

    assert list(folder.iterdir()) == []


def test_what_only_looks_like_an_archive_stays_a_file(url, tmp_path):
    fetch_if_missing(Download(url=f"{url}/plain.gz", path=tmp_path / "plain.gz"), ignore)

    assert (tmp_path / "plain.gz").read_bytes() == FILES["/plain.gz"]


def test_a_file_url_is_copied(tmp_path):
    (tmp_path / "a file").write_text("x")
    (wanted,) = downloads(f"file://{tmp_path}/a%20file;b", tmp_path / "data")

    assert fetch_if_missing(wanted, ignore)
    assert (tmp_path / "data" / "b").read_text() == "x"


@pytest.mark.parametrize(
    ("address", "kind", "words"),
    [
        ("gs://$(id)/a", UsageError, "is not a location for objects"),
        ("ftp://host/a", UsageError, "scheme ftp"),
        ("file:///no/such/file", UsageError, "There is no file /no/such/file"),
    ],
)
def test_what_cannot_be_fetched_is_said(tmp_path: Path, address, kind, words):
    with pytest.raises(kind, match=words):
        fetch_if_missing(Download(url=address, path=tmp_path / "a"), ignore)
