"""A word means a run, a label, a tag, a commit or a day; never two of them at once."""

from __future__ import annotations

from contextlib import closing

import msgspec
import pytest

from assay.core.errors import UsageError
from assay.core.records import Environment
from assay.core.registry import open_store
from assay.stores.selection import select
from tests.stores.test_sqlite import stored


@pytest.fixture
def store(home):
    with closing(open_store(home)) as opened:
        for label, day, commit in (("before", "01", "a"), ("after", "02", "b")):
            (made,) = stored(opened, 1)
            opened.append(
                msgspec.structs.replace(
                    made,
                    label=label,
                    tags={"box": label},
                    started=f"2026-11-{day}T10:00:00.000+00:00",
                    environment=Environment(git={"commit": commit * 40}),
                )
            )
        yield opened


@pytest.mark.parametrize(
    "text",
    [
        *("after", "label:after", "box=after", "tag:box=after", "bbbbbbb", "commit:bbbbbbb"),
        *("2026-11-02", "day:2026-11-02T10", "last"),
    ],
)
def test_each_word_finds_its_results(store, text):
    (found,) = select(store, text)

    assert found.label == "after"


def test_a_month_is_all_of_its_days(store):
    assert len(select(store, "2026-11")) == 2


def test_a_word_that_means_two_things_has_to_be_said_more_clearly(store):
    (made,) = stored(store, 1)
    store.append(msgspec.structs.replace(made, label="2026-11-02"))

    with pytest.raises(UsageError, match="'2026-11-02' could be a label or a day") as caught:
        select(store, "2026-11-02")
    assert caught.value.hint == "Choose one: label:2026-11-02"


@pytest.mark.parametrize(
    "text", ["nobody", "label:nobody", "tag:a=b", "commit:1234567", "", "day:x"]
)
def test_what_means_nothing_is_an_error(store, text):
    with pytest.raises(UsageError):
        select(store, text)
