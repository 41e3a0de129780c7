"""The scanner against `re.findall` over the whole text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.logs import scan
from assay.logs.extract import PatternExtractor
from assay.logs.patterns import FLAGS, compile_pattern, expand
from assay.logs.scan import Scanner

PATTERNS = (
    r"Speed: (\d+) samples/sec",
    r"speed=(\d+)",
    r"^(\d+)$",
    r"(\d+) ms$",
    r"a\s{1,9}(\d+)",  # at most WINDOW lines
    r"b=([^,\n]*\n?[^,\n]*),",
    r"(?i)LOSS (\d+)",
    r"x(\d)",
    r"(?<=b=)(\d+)",
    r"\d+",
)
PIECES = st.sampled_from(
    (
        *("Speed: 12 samples/sec", "speed=7", "12", " ms", "a", " ", "\n", "\n", "b=", ","),
        *("Loss 5", "x1x2", "Speed: ", " samples/sec", "nothing to see here", "3"),
    )
)


class Listed(PatternExtractor):
    """Keeps the texts it is given, so that they can be compared with findall's."""

    def __init__(self, source):
        super().__init__(compile_pattern(source))
        self.texts = []
        self.finds.add = self.texts.extend


def scanned(blocks):
    listed = [Listed(source) for source in PATTERNS]
    scanner = Scanner(listed)
    for block in blocks:
        scanner.feed(block)
    scanner.finish()
    return [one.texts for one in listed]


def expected(text):
    return [re.findall(expand(source), text, FLAGS) for source in PATTERNS]


def cut_at_lines(text, every):
    lines = text.splitlines(keepends=True)
    return ["".join(lines[start : start + every]) for start in range(0, len(lines), every)]


@given(st.lists(PIECES, max_size=60), st.integers(1, 40))
def test_small_blocks_give_what_findall_gives(pieces, every):
    text = "".join(pieces) + "\n"
    assert scanned(cut_at_lines(text, every)) == expected(text)


@settings(deadline=None, max_examples=40)
@given(st.lists(PIECES, max_size=40), st.integers(1, 6), st.integers(0, 400))
def test_blocks_searched_by_probes_give_what_findall_gives(pieces, every, noise):
    sparse = "".join(pieces) + "\n"
    text = (sparse + "some line without any of it\n" * noise) * 6
    usual, scan.SMALL = scan.SMALL, 50
    try:
        assert scanned(cut_at_lines(text, every * 100)) == expected(text)
    finally:
        scan.SMALL = usual


def test_what_was_rare_and_becomes_frequent_is_still_all_found():
    quiet, loud = "nothing here at all\n" * 1000, "Speed: 12 samples/sec\n" * 1000
    blocks = [quiet, loud, loud, quiet, loud]
    assert scanned(blocks) == expected("".join(blocks))


@pytest.mark.parametrize("lines", [2, 9])
def test_a_match_across_lines_is_found_however_the_blocks_fall(lines):
    text = "a" + "\n" * (lines - 1) + "5\n"
    blocks = text.splitlines(keepends=True)
    assert scanned(blocks) == expected(text)


def test_extractors_share_a_probe_only_if_each_needs_it():
    listed = [Listed(source) for source in (r"alpha=(\d+)", r"beta=(\d+)", r"gamma (\d+)")]
    _, probes = scan._choose(listed, "no such thing\n" * 100)
    for probe in probes:
        assert all(any(probe.text in one for one in x.literals) for x in probe.members)
    assert sorted(map(id, (x for probe in probes for x in probe.members))) == sorted(
        map(id, listed)
    )
