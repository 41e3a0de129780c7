"""Compiled patterns of metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from assay.core.errors import UsageError
from assay.logs.numbers import NUMBER, QUANTITY, fraction

# Common groups for numbers, without signs, exponents and nan: replaced by NUMBER.
IDIOMS = (
    r"(\d+\.\d+|\d+)",
    r"(\d+|\d+\.\d+)",
    r"(\d+\.?\d*)",
    r"(\d*\.\d+|\d+)",
    r"(\d*\.?\d+)",
    r"([\d.]+)",
    r"([\d\.]+)",
    r"([0-9.]+)",
    r"([0-9]*\.?[0-9]+)",
)
# Groups that require a fraction with a minimum of digits: 2018 of a date does not match.
_FRACTION = re.compile(r"(?<!\\)((?:\\\\)*)\((?:\\d|\[0-9\])\+\\\.((?:(?:\\d|\[0-9\])\+)+)\)")
FLAGS = re.ASCII | re.MULTILINE


@dataclass(frozen=True)
class Pattern:
    """A regular expression for logs."""

    source: str  # as written
    regex: re.Pattern[str]
    crossing: bool  # may match a line end and needs a window of lines
    literals: tuple[str, ...]  # substrings of every match


def compile_pattern(source: str) -> Pattern:
    """Expand placeholders and idioms; ^ and $ match at line ends, \\d is 0 to 9."""
    text = expand(source)
    try:
        regex = re.compile(text, FLAGS)
    except re.error as error:
        position = f" at position {error.pos}" if error.pos is not None and text == source else ""
        raise UsageError(
            f"The pattern '{source}' is no regular expression: {error.msg}{position}.",
            hint="Put a backslash before a literal bracket, dot or star.",
        ) from None
    tree = parser.parse(text, FLAGS)
    if any(_find_anchors(tree, {codes.AT_BEGINNING_STRING, codes.AT_END_STRING})):
        raise UsageError(
            f"The pattern '{source}' matches at an end of the whole log (\\A or \\Z).",
            hint="Write ^ and $: the ends of a line.",
        )
    literals = () if regex.flags & re.IGNORECASE else tuple(_literals(tree))
    crossing = _can_match_line_end(tree, bool(regex.flags & re.DOTALL))
    return Pattern(source, regex, crossing, literals)


def expand(source: str) -> str:
    """Replace {number}, {quantity} and idioms by the number grammar."""
    text = source.replace("{number}", f"({NUMBER})").replace("{quantity}", f"({QUANTITY})")
    for idiom in IDIOMS:
        text = _replace_unescaped(text, idiom)
    return _FRACTION.sub(lambda match: f"{match[1]}({fraction(match[2].count('+'))})", text)


def _replace_unescaped(text: str, idiom: str) -> str:
    """Replace an idiom unless its bracket is escaped, as in `\\(\\d+\\.\\d+)`."""
    return re.sub(
        r"(?<!\\)((?:\\\\)*)" + re.escape(idiom), lambda match: f"{match[1]}({NUMBER})", text
    )


def _find_anchors(tree: Any, anchors: set[Any]) -> Iterator[bool]:
    for code, argument in tree:
        if code is codes.AT and argument in anchors:
            yield True
        for part in _inside(code, argument):
            yield from _find_anchors(part, anchors)


def _inside(code: Any, argument: Any) -> tuple[Any, ...]:
    """The subpatterns of one node."""
    if code is codes.BRANCH:
        return tuple(argument[1])
    if code is codes.ATOMIC_GROUP:
        return (argument,)
    if code is codes.GROUPREF_EXISTS:
        return tuple(part for part in argument[1:] if part is not None)
    if code is codes.SUBPATTERN:
        return (argument[3],)
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return (argument[1],)
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return (argument[2],)
    return ()


def _can_match_line_end(tree: Any, dotall: bool) -> bool:
    for code, argument in tree:
        if code is codes.LITERAL and argument == 10:
            return True
        if code is codes.NOT_LITERAL and argument != 10:
            return True
        if code is codes.ANY and dotall:
            return True
        if code is codes.IN and _holds_line_end(argument):
            return True
        inner = dotall or (code is codes.SUBPATTERN and bool(argument[1] & re.DOTALL))
        if any(_can_match_line_end(part, inner) for part in _inside(code, argument)):
            return True
    return False


def _holds_line_end(items: Any) -> bool:
    spaces = (codes.CATEGORY_SPACE, codes.CATEGORY_NOT_DIGIT, codes.CATEGORY_NOT_WORD)
    inside = any(
        (code is codes.LITERAL and argument == 10)
        or (code is codes.RANGE and argument[0] <= 10 <= argument[1])
        or (code is codes.CATEGORY and argument in spaces)
        for code, argument in items
    )
    negated = any(code is codes.NEGATE for code, _ in items)
    return inside != negated


def _literals(tree: Any) -> Iterator[str]:
    """Substrings of every match, longest first."""
    yield from sorted(set(_runs(tree)), key=lambda run: (-len(run), run))


def _runs(tree: Any) -> Iterator[str]:
    run = ""
    for code, argument in tree:
        if code is codes.LITERAL:
            run += chr(argument)
            continue
        if code is codes.AT:  # zero width: its neighbours are adjacent
            continue
        if run:
            yield run
        run = ""
        if _is_mandatory(code, argument):
            for part in _inside(code, argument):
                yield from _runs(part)
    if run:
        yield run


def _is_mandatory(code: Any, argument: Any) -> bool:
    """Whether the content of a node is a literal part of every match."""
    if code is codes.SUBPATTERN:
        return not argument[1] & re.IGNORECASE
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return bool(argument[0])
    return code is codes.ATOMIC_GROUP
