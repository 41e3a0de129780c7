"""Run many extractors over one stream of text efficiently.

Most lines have no value. So extractors share probes: rare characters or short texts that every
match of them contains. Only lines with the probe are searched. Extractors without a useful probe
see every line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from assay.logs.extract import Extractor, PatternExtractor

WINDOW = 16  # lines that a match may span
SMALL = 4096  # characters; no probes for shorter blocks
SAMPLE = 1 << 15  # characters to choose probes from
REFRESH_BLOCKS = 1024  # blocks until probes are chosen again
GRAM = 4  # length of substrings that literals may share

# Rough costs in seconds, measured with CPython 3.11; only their ratios matter.
SEARCH_CHARACTER = 0.01e-9  # per character of the log, search for a character
SEARCH_TEXT = 0.15e-9  # search for a text,
SEARCH_SHORT = 2e-9  # plus this over its length
SEARCH_PATTERN = 0.7e-9  # search for a pattern
HIT = 0.6e-6  # extracting one line


class Scanner:
    """Feeds blocks of complete lines to extractors."""

    def __init__(self, extractors: Iterable[Extractor]) -> None:
        all_extractors = list(extractors)
        crossing = [
            extractor
            for extractor in all_extractors
            if isinstance(extractor, PatternExtractor) and extractor.crossing
        ]
        self._lone = [extractor for extractor in all_extractors if extractor not in crossing]
        self._window = _Window(crossing) if crossing else None
        self._everywhere: list[Extractor] = []
        self._probes: list[_Probe] = []
        self._left = 0  # blocks until probes are chosen again

    def feed(self, block: str) -> None:
        """`block` ends with a line end."""
        if self._window:
            self._window.feed(block)
        if len(block) < SMALL:
            _take(self._lone, block)
            return
        if not self._left:
            self._everywhere, self._probes = _choose(self._lone, block[:SAMPLE])
            self._left = REFRESH_BLOCKS
        self._left -= 1
        _take(self._everywhere, block)
        for probe in self._probes:
            text = _lines_with(probe.text, block)
            if len(text) > len(block) * (4 * probe.share + 0.01):
                self._left = 0  # it became more frequent
            _take(probe.members, text)

    def finish(self) -> None:
        if self._window:
            self._window.feed("", last=True)


def _take(extractors: Sequence[Extractor], text: str) -> None:
    if text:
        for extractor in extractors:
            extractor.take(text)


class _Window:
    """Patterns that cross lines see every line with the next ones."""

    def __init__(self, extractors: list[PatternExtractor]) -> None:
        self._extractors = extractors
        self._starts = [0] * len(extractors)
        self._text = ""

    def feed(self, block: str, last: bool = False) -> None:
        text = self._text + block
        stop = len(text) if last else _last_lines(text)
        self._starts = [
            extractor.take_window(text, start, stop)
            for extractor, start in zip(self._extractors, self._starts, strict=True)
        ]
        keep = text.rfind("\n", 0, max(0, stop - 1)) + 1  # one more line, for lookbehind
        self._text = text[keep:]
        self._starts = [start - keep for start in self._starts]


def _last_lines(text: str) -> int:
    """Start of the last lines, whose matches may need further lines."""
    start = len(text)
    for _ in range(WINDOW):
        start = text.rfind("\n", 0, max(0, start - 1)) + 1
        if start == 0:
            break
    return start


def _lines_with(probe: str, block: str) -> str:
    lines = []
    start = block.find(probe)
    while start >= 0:
        end = block.find("\n", start) + 1
        lines.append(block[block.rfind("\n", 0, start) + 1 : end])
        start = block.find(probe, end)
    return "".join(lines)


@dataclass(frozen=True)
class _Probe:
    """A substring of every line that its members can match."""

    text: str
    members: list[Extractor]
    share: float  # of lines that contain it


def _choose(extractors: Sequence[Extractor], sample: str) -> tuple[list[Extractor], list[_Probe]]:
    """Extractors that see every line, and the cheapest probes for others (greedy set cover)."""
    needs = {number: set(_candidates(extractor)) for number, extractor in enumerate(extractors)}
    lines = sample.split("\n")
    shares = {
        text: sum(text in line for line in lines) / len(lines)
        for text in set().union(*needs.values())
    }
    left = set(needs)
    probes: list[_Probe] = []
    while left:
        holders = _holders(needs, left)
        costs = {
            text: _cost(text, shares[text], len(sample) / len(lines), len(numbers))
            for text, numbers in holders.items()
        }
        best = min(costs, key=lambda text: costs[text], default="")
        if not best or costs[best] > SEARCH_PATTERN:
            break
        members = [extractors[number] for number in sorted(holders[best])]
        probes.append(_Probe(best, members, shares[best]))
        left -= holders[best]
    return [extractors[number] for number in sorted(left)], probes


def _candidates(extractor: Extractor) -> Iterator[str]:
    for literal in extractor.literals:
        if "\n" not in literal:
            yield literal
            yield from literal
            yield from (literal[i : i + GRAM] for i in range(len(literal) - GRAM + 1))


def _holders(needs: dict[int, set[str]], left: set[int]) -> dict[str, set[int]]:
    holders: dict[str, set[int]] = {}
    for number in left:
        for text in needs[number]:
            holders.setdefault(text, set()).add(number)
    return holders


def _cost(text: str, share: float, line: float, members: int) -> float:
    """Seconds per character of the log and member; `line`: average length of a line."""
    search = SEARCH_CHARACTER if len(text) == 1 else SEARCH_TEXT + SEARCH_SHORT / len(text)
    return (search + HIT * share / line) / members + SEARCH_PATTERN * share
