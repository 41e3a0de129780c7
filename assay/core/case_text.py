"""Cases as text: `WORKLOAD:k=v@BACKEND:k=v`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Any

from assay.core.errors import UsageError
from assay.core.records import Case, Value

CaseLike = str | Case | Callable[..., Any]  # a function or class is known by its file and name


_PAIR = re.compile(r"(\w+)=('(?:[^']|'')*'|[^,']*)(?:,|$)")  # '' in a quoted value is one quote


def parse_case(text: str) -> Case:
    """`WORKLOAD[:k=v,…][@BACKEND[:k=v,…]]`; without a backend it is left as `?`."""
    left, at, right = _split_at_last_at(text)
    workload, params = _name_and_pairs(left, text)
    backend, options = _name_and_pairs(right, text) if at else ("?", {})
    if not workload or not backend:
        raise UsageError(
            f"'{text}' is not a case.",
            hint="A case is WORKLOAD[:k=v,…]@BACKEND[:k=v,…], as in mnist-mlp@keras-jax.",
        )
    return Case(workload=workload, backend=backend, params=params, options=options)


def ab_command(*words: Case | str) -> str:
    """A comparison of cases, with its options, as a shell takes it."""
    texts = [word.key if isinstance(word, Case) else word for word in words]
    trust = (
        ["--trust"] if any(isinstance(word, Case) and word.trust is True for word in words) else []
    )
    return shlex.join(["assay", "ab", *texts, *trust])


def _split_at_last_at(text: str) -> tuple[str, bool, str]:
    """Split at the last @ that is not inside quotes."""
    quoted, last = False, -1
    for index, character in enumerate(text):
        if character == "'":
            quoted = not quoted
        elif character == "@" and not quoted:
            last = index
    return (text, False, "") if last < 0 else (text[:last], True, text[last + 1 :])


def _name_and_pairs(text: str, whole: str) -> tuple[str, dict[str, Value]]:
    start = re.search(r":(?=\w+=)", text)
    if not start:
        return text, {}
    name, rest = text[: start.start()], text[start.end() :]
    pairs: dict[str, Value] = {}
    while rest:
        pair = _PAIR.match(rest)
        if not pair:
            raise UsageError(
                f"'{rest}' in '{whole}' is not NAME=VALUE.",
                hint="Separate pairs by commas; quote a value that has , : or @ in it: k='a,b'.",
            )
        quoted = pair[2].startswith("'")
        pairs[pair[1]] = pair[2][1:-1].replace("''", "'") if quoted else pair[2]
        rest = rest[pair.end() :]
    return name, pairs
