from __future__ import annotations

import pytest

from assay.core.errors import UsageError
from assay.formats.perfzero.windows import FOR_EVER, parse


def test_windows_are_pairs_of_seconds_and_the_last_may_be_open():
    assert parse("5:10,20.5:25,30:") == ((5, 10), (20.5, 25), (30, FOR_EVER))
    assert parse("7") == ((7, FOR_EVER),)
    assert parse("") == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("10:5", "10:5 ends before it begins"),
        ("5:5", "ends before it begins"),
        ("1:5,4:6", "4:6 begins before the one before it has ended"),
        ("1:,2:3", "begins before the one before"),
        ("a:5", "has 'a' where seconds belong"),
        ("-1:5", "where seconds belong"),
        (":5", "where seconds belong"),
    ],
)
def test_a_window_that_cannot_be_is_refused(text, words):
    with pytest.raises(UsageError, match=words):
        parse(text)
