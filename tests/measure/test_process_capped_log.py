"""A log keeps its two ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.measure.process import TruncatedLog


def written(path, chunks, head=10, tail=10):
    log = TruncatedLog(path, head=head, tail=tail)
    for chunk in chunks:
        log.write(chunk)
    log.close()
    return path.read_bytes()


def test_a_short_log_is_kept_whole(tmp_path):
    assert written(tmp_path / "log", [b"hello ", b"world, all"]) == b"hello world, all"


def test_a_flood_loses_its_middle_and_says_how_much(tmp_path):
    kept = written(tmp_path / "log", [b"abcdefghij", b"x" * 1000, b"0123456789"])

    assert kept == b"abcdefghij\n... 1000 bytes left out ...\n0123456789"


@given(st.lists(st.binary(max_size=30), max_size=20))
def test_nothing_is_lost_uncounted(tmp_path_factory, chunks):
    whole = b"".join(chunks)
    kept = written(tmp_path_factory.mktemp("logs") / "log", chunks)

    if len(whole) <= 20:
        assert kept == whole
    else:
        assert kept.startswith(whole[:10])
        assert kept.endswith(whole[-10:])
        assert b"%d bytes left out" % (len(whole) - 20) in kept
