"""Older spellings of keywords are accepted, with a warning."""

import warnings

import pytest

from assay.core.options import accept_old_keywords


@accept_old_keywords(home="store")
def places(*cases: str, store: str = "") -> tuple[tuple[str, ...], str]:
    """What it got."""
    return cases, store


def test_an_older_keyword_is_accepted_with_a_warning_that_names_the_newer():
    with pytest.warns(
        DeprecationWarning, match=r"places\(home=…\) is now places\(store=…\)"
    ) as caught:
        assert places("a", home="/x") == (("a",), "/x")  # type: ignore[call-arg]

    assert caught[0].filename == __file__


def test_the_newer_keyword_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert places(store="/x") == ((), "/x")


def test_both_at_once_are_a_type_error():
    with pytest.raises(TypeError, match="got 'home', the older name of 'store', beside it"):
        places(store="/x", home="/y")  # type: ignore[call-arg]


def test_an_unknown_keyword_is_a_type_error():
    with pytest.raises(TypeError, match="unexpected keyword argument 'stroe'"):
        places(stroe="/x")  # type: ignore[call-arg]
