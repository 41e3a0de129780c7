"""Results of a run that lies elsewhere: a folder, or a server on loopback."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from assay.commands.repro.setup import results
from assay.core import codec
from assay.core.errors import AssayError, UsageError
from tests.commands.repro.test_setup import RESULT


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "20261116-000000-abcd"
    for number in ("001", "002"):
        (folder / number).mkdir(parents=True)
        changed = {**codec.msgspec.to_builtins(RESULT), "id": f"{folder.name}/{number}"}
        (folder / number / "result.json").write_bytes(codec.encode(changed))
    return folder


@pytest.fixture
def url(run):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=run.parent))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/{run.name}"
    server.shutdown()
    thread.join()
    server.server_close()


def numbers(found) -> list[str]:
    return [one.id[-3:] for one in found]


def test_a_folder_of_a_run_or_of_a_result(run):
    assert numbers(results(str(run), "abcd")) == ["001", "002"]
    assert numbers(results(str(run / "002"), "abcd")) == ["002"]


def test_a_url_of_a_run_of_a_result_or_of_its_file(url):
    assert numbers(results(url, "abcdefgh")) == ["001", "002"]
    assert numbers(results(url, "abcd/002")) == ["002"]
    assert numbers(results(f"{url}/002", "abcdefgh")) == ["002"]
    assert numbers(results(f"{url}/001/result.json", "x")) == ["001"]


def test_what_is_not_there_is_said(url, tmp_path):
    with pytest.raises(UsageError, match="There is no result at"):
        list(results(url, "abcd/007"))
    with pytest.raises(UsageError, match="is no run folder"):
        list(results(str(tmp_path / "nowhere"), "x"))
    with pytest.raises(AssayError, match="cannot be read"):
        list(results("http://127.0.0.1:1/run", "x"))
