"""Downloads from a real server on this machine: whole, cut, resumed, refused."""

from __future__ import annotations

import hashlib
import os
from contextlib import ExitStack

import pytest

from assay.core.errors import AssayError, NotPossibleError
from assay.datasets.dataset import Remote
from assay.datasets.download import MAX_FRUITLESS, download
from tests.datasets.serving import Site, serving

pytestmark = pytest.mark.real("http.server")

BODY = bytes(range(256)) * 4096  # a megabyte, so that a cut leaves something
RIGHT = "sha256:" + hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def get(tmp_path, monkeypatch):
    """Download from a site; pauses and progress are noted, not waited for."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    class Get:
        def __init__(self):
            self.folder, self.pauses, self.seen = tmp_path / "cache", [], []

        def __call__(self, site, checksum=RIGHT):
            remote = Remote(url=site.url, file="data.bin", checksum=checksum)
            return download(
                remote, self.folder, lambda *told: self.seen.append(told), self.pauses.append
            )

        def part(self):
            return self.folder / ".data.bin.part"

    return Get()


@pytest.fixture
def site():
    with ExitStack() as stack:
        yield lambda **how: stack.enter_context(serving(Site(**{"body": BODY, **how})))


def test_a_whole_file_comes_with_progress_and_leaves_nothing_else(get, site):
    path = get(site())

    assert path.read_bytes() == BODY
    assert os.listdir(get.folder) == ["data.bin"]
    assert get.seen[-1] == ("data.bin", len(BODY), len(BODY))
    assert get.pauses == []


def test_a_cut_is_resumed_where_it_was(get, site):
    served = site(cuts=[1000, 500])

    assert get(served).read_bytes() == BODY
    assert served.asked == ["", "bytes=1000-", "bytes=1500-"]
    assert len(get.pauses) == 2


def test_a_later_call_goes_on_with_what_an_earlier_one_got(get, site):
    with pytest.raises(NotPossibleError, match="1000 bytes are kept"):
        get(site(cuts=[1000], cut_always=0))
    served = site()

    assert get(served).read_bytes() == BODY
    assert served.asked == ["bytes=1000-"]


def test_a_server_without_ranges_sends_all_again(get, site):
    served = site(ranges=False, cuts=[1000])

    assert get(served).read_bytes() == BODY
    assert served.asked == ["", "bytes=1000-"]


def test_two_versions_of_a_file_never_mix(get, site):
    with pytest.raises(NotPossibleError):
        get(site(cuts=[1000], cut_always=0))
    changed = site(body=BODY[::-1], etag='"two"')

    path = get(changed, checksum="")

    assert path.read_bytes() == BODY[::-1]


@pytest.mark.parametrize("ranges", [True, False])
def test_a_server_that_cuts_for_ever_is_given_up(get, site, ranges):
    served = site(ranges=ranges, cut_always=0 if ranges else 1000)

    with pytest.raises(
        NotPossibleError, match="the connection was cut, 3 times in a row"
    ) as caught:
        get(served)

    assert len(served.asked) <= MAX_FRUITLESS + 1
    assert caught.value.hint.endswith(str(get.folder / "data.bin"))
    assert not (get.folder / "data.bin").exists()


def test_a_missing_file_is_said_at_once(get, site):
    served = site(status=404)

    with pytest.raises(NotPossibleError, match=r"data\.bin could not be fetched.*404 Not Found"):
        get(served)

    assert len(served.asked) == 1


def test_a_server_in_trouble_is_asked_again(get, site):
    served = site(status=503)

    with pytest.raises(NotPossibleError, match="503 Service Unavailable, 3 times"):
        get(served)

    assert len(served.asked) == MAX_FRUITLESS
    assert get.pauses == [2.0, 4.0]


def test_no_server_at_all_is_said(get, site):
    served = site()
    served.url = "http://127.0.0.1:1/file"

    with pytest.raises(NotPossibleError, match="Connection refused"):
        get(served)


def test_a_wrong_checksum_is_refused_and_nothing_is_kept(get, site):
    with pytest.raises(
        AssayError, match=r"data\.bin has the md5 checksum .* but 0000 was expected"
    ):
        get(site(), checksum="md5:0000")

    assert get.part().stat().st_size == 0
    assert not (get.folder / "data.bin").exists()


def test_a_download_that_was_whole_but_not_renamed_is_finished(get, site):
    get.folder.mkdir()
    get.part().write_bytes(BODY)

    assert get(site()).read_bytes() == BODY


def test_a_part_longer_than_the_file_is_begun_again(get, site):
    get.folder.mkdir()
    get.part().write_bytes(BODY + b"more")

    assert get(site()).read_bytes() == BODY


@pytest.mark.parametrize("length", [False, "abc", "²", "-1"])
def test_an_answer_without_a_length_is_taken_to_its_end(get, site, length):
    assert get(site(length=length)).read_bytes() == BODY
    assert get.seen[-1] == ("data.bin", len(BODY), None)


def test_two_at_once_do_not_write_the_same_file(get, site):
    import fcntl

    get.folder.mkdir()
    with open(get.part(), "ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(AssayError, match="is being fetched by another assay"):
            get(site())


def test_a_folder_that_cannot_be_written_is_said(get, site):
    get.folder.write_text("a file, no folder")

    with pytest.raises(NotPossibleError, match="cannot be written"):
        get(site())
