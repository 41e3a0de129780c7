"""A quick run begins a case only if there is time for one as long as the longest before it."""

from __future__ import annotations

import pytest

from assay.measure.quick import TimeLimit


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ((20.0, 1.0), ["a"]),  # the first is measured whatever it takes
        ((3.0, 3.0, 3.0), ["a", "b", "c"]),
        ((3.0, 4.0, 3.0), ["a", "b"]),
        ((1.0, 5.0, 1.0), ["a", "b"]),  # 3 s are left, the longest took 5
    ],
)
def test_cases_are_begun_while_there_is_time(lengths, expected):
    now = [0.0]
    limit = TimeLimit(9.0, now=lambda: now[0])

    begun = []
    for name, length in zip(limit.within("abc"[: len(lengths)]), lengths, strict=False):
        begun.append(name)
        now[0] += length

    assert begun == expected
