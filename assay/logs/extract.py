"""Extractors of values from a log: patterns, `key=value`, JSON lines and `:::MLLOG` lines."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Protocol

from assay.logs.numbers import numbers
from assay.logs.patterns import Pattern, compile_pattern
from assay.logs.values import Values

_OBJECT = re.compile(r'\{\s*"')

MAX_QUOTED = 60  # characters of a bad text in messages


class Extractor(Protocol):
    """Extracts values from texts of complete lines, once and in order."""

    literals: tuple[str, ...]  # a line without one of these has no value for it
    finds: ExtractedNumbers

    def take(self, text: str) -> None: ...


class ExtractedNumbers:
    """Extracted numbers, and matches without a number."""

    def __init__(self, unit: str) -> None:
        self.values = Values()
        self.bad = 0
        self.first_bad = ""
        self.last = ""  # number, as printed
        self._unit = unit

    def add(self, texts: Sequence[str]) -> None:
        if not texts:
            return
        parsed, bad = numbers(texts, self._unit)
        self.values.extend(parsed)
        self.last = next((text for text in reversed(texts) if text not in bad), self.last)
        for text in bad:
            self.refuse(f"'{text[:MAX_QUOTED]}' is not one number")

    def refuse(self, reason: str) -> None:
        self.first_bad = self.first_bad or reason
        self.bad += 1


class PatternExtractor:
    """A regular expression. The number is its only group, the group `value`, or the whole match; of
    several groups exactly one may match."""

    def __init__(self, pattern: Pattern, unit: str = "") -> None:
        self.crossing = pattern.crossing
        self.literals = pattern.literals
        self.finds = ExtractedNumbers(unit)
        self._regex = pattern.regex
        named = pattern.regex.groupindex.get("value")
        self._group = named if named else min(1, pattern.regex.groups)
        self._several = pattern.regex.groups > 1 and not named
        self._direct = pattern.regex.groups <= 1  # findall gives the texts themselves

    def take(self, text: str) -> None:
        if self._direct:
            self.finds.add(self._regex.findall(text))
        else:
            self._add(list(self._regex.finditer(text)))

    def take_window(self, text: str, start: int, stop: int) -> int:
        """Add matches that begin between start and stop; returns where to continue."""
        matches = []
        if all(literal in text for literal in self.literals):
            for match in self._regex.finditer(text, start):
                if match.start() >= stop:
                    break
                matches.append(match)
                start = match.end() + (match.end() == match.start())
        self._add(matches)
        return max(start, stop)

    def _add(self, matches: list[re.Match[str]]) -> None:
        if not self._several:
            self.finds.add([match[self._group] or "" for match in matches])
            return
        for match in matches:
            texts = [text for text in match.groups() if text is not None]
            if len(texts) == 1:
                self.finds.add(texts)
            else:
                self.finds.refuse(
                    f"{len(texts)} groups of the pattern matched; name the right one (?P<value>…)"
                )


class JsonExtractor:
    """A field of JSON objects, one per line, with any text before or after."""

    def __init__(self, path: Sequence[str], marks: tuple[str, ...] = (), unit: str = "") -> None:
        quoted = [json.dumps(part) for part in path if part.isascii()]
        # {"a.b": 1} matches the path a.b too, so only a single name is always quoted
        self.literals = (*marks, *(quoted if len(path) == 1 else [q[1:-1] for q in quoted]))
        self.finds = ExtractedNumbers(unit)
        self._path = path
        self._decode = json.JSONDecoder().raw_decode  # it reads NaN and Infinity

    def take(self, text: str) -> None:
        texts = []
        for line in text.split("\n"):
            if all(literal in line for literal in self.literals):
                value = self._look_up(self._document(line))
                if isinstance(value, bool) or not isinstance(value, str | int | float):
                    if value is not Missing:
                        self.finds.refuse(f"{json.dumps(value)[:MAX_QUOTED]} is no number")
                else:
                    texts.append(str(value))
        self.finds.add(texts)

    def _document(self, line: str) -> Any:
        for brace in _OBJECT.finditer(line):
            try:
                return self._decode(line, brace.start())[0]
            except ValueError:
                continue
        return Missing

    def _look_up(self, document: Any) -> Any:
        if isinstance(document, dict) and ".".join(self._path) in document:
            return document[".".join(self._path)]
        for part in self._path:
            if not isinstance(document, dict) or part not in document:
                return Missing
            document = document[part]
        return document


class MllogExtractor(JsonExtractor):
    """The value of one key of MLPerf's `:::MLLOG` lines: `eval_accuracy`, or a field of an
    object as `tracked_stats.throughput`."""

    def __init__(self, key: str, unit: str = "") -> None:
        self._key, *rest = key.split(".")
        super().__init__(rest, marks=(":::MLLOG", json.dumps(self._key)), unit=unit)

    def _look_up(self, document: Any) -> Any:
        if not isinstance(document, dict) or document.get("key") != self._key:
            return Missing
        value = document.get("value")
        return super()._look_up(value) if self._path else value


class Missing:
    """Marker of a missing field; null is a value."""


def json_extractor(path: str, unit: str = "") -> JsonExtractor:
    return JsonExtractor(path.split("."), unit=unit)


def key_extractor(key: str, unit: str = "") -> PatternExtractor:
    """`key=12.5`, `key: 12.5` or `"key": "12.5"`, the key being a whole word."""
    text = rf"(?<![\w.-]){re.escape(key)}[\"']?[ \t]*[=:][ \t]*[\"']?{{quantity}}"
    return PatternExtractor(compile_pattern(text), unit)
