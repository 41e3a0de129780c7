from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.logs import stream
from assay.logs.stream import Lines


def text_of(*chunks: bytes) -> str:
    lines = Lines()
    return "".join(map(lines.feed, chunks)) + lines.finish()


def test_only_whole_lines_come_out():
    lines = Lines()
    assert lines.feed(b"one\ntw") == "one\n"
    assert lines.feed(b"o") == ""
    assert lines.feed(b"\n") == "two\n"
    assert lines.finish() == ""


def test_a_last_line_without_an_end_is_a_line():
    assert text_of(b"one\ntwo") == "one\ntwo\n"


def test_each_redraw_of_a_bar_is_a_line():
    assert text_of(b"\r10%\r20%\r\n") == "\n10%\n20%\n"


def test_a_carriage_return_cut_from_its_line_feed_ends_one_line():
    assert text_of(b"one\r", b"\ntwo\r", b"three") == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("printed", "plain"),
    [
        (b"\x1b[1m\x1b[38;5;12mloss\x1b[0m 1\n", "loss 1\n"),
        (b"\x1b]0;title\x07loss 1\n", "loss 1\n"),
        (b"10%\x1b[1A20%\n", "10%\n20%\n"),
        (b"10%\x08\x08\x0820%\n", "10%\n20%\n"),
        (b"\x1b[2K\x1b[?25lx\n", "x\n"),
    ],
)
def test_colours_vanish_and_moves_of_the_cursor_end_a_line(printed, plain):
    assert text_of(printed) == plain


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-16-le"])
def test_text_is_the_same_in_any_encoding(encoding):
    assert text_of("loss: 0.5 µs\nnext é\n".encode(encoding)) == "loss: 0.5 µs\nnext é\n"


def test_bytes_that_are_no_text_cost_only_themselves():
    assert text_of(b"a\xff\xc3\x28b\n") == "a\xff\xc3(b\n"


def test_a_line_that_never_ends_is_cut(monkeypatch):
    monkeypatch.setattr(stream, "MAX_LINE", 10)
    assert text_of(b"x" * 25) == "x" * 10 + "\n" + "x" * 10 + "\n" + "x" * 5 + "\n"


@given(st.binary(max_size=200), st.lists(st.integers(1, 50), max_size=10))
def test_how_bytes_are_cut_into_chunks_never_shows(data, sizes):
    chunks, rest = [], data
    for size in sizes:
        chunks.append(rest[:size])
        rest = rest[size:]
    assert text_of(*chunks, rest) == text_of(data)


@given(st.lists(st.sampled_from([b"a" * 7, b"\n", b"\r", b"\r\n", b"b" * 23]), max_size=20))
def test_long_lines_are_cut_at_the_same_places_whatever_the_chunks(parts):
    usual, stream.MAX_LINE = stream.MAX_LINE, 16
    try:
        assert text_of(*parts) == text_of(b"".join(parts))
    finally:
        stream.MAX_LINE = usual
