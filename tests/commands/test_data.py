"""Datasets from Python: what is known, and how to have it."""

from __future__ import annotations

import pytest

from assay.commands.data import fetch_data, list_datasets
from assay.core.errors import NotPossibleError, UsageError
from tests.datasets.making import SAMPLE


def test_every_dataset_is_here_or_says_how_to_get_it(monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))

    known = {held.name: held for held in list_datasets()}

    assert known["mnist"].place == str(SAMPLE / "mnist.npz")
    assert all(held.place or held.note for held in known.values())


def test_data_are_looked_for_in_the_home_that_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    (tmp_path / "other" / "data").mkdir(parents=True)
    (tmp_path / "other" / "data" / "mnist.npz").symlink_to(SAMPLE / "mnist.npz")

    assert fetch_data("mnist", store=tmp_path / "other") == [
        str(tmp_path / "other" / "data" / "mnist.npz")
    ]


def test_several_are_fetched_in_the_order_of_their_names_given(monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))

    places = fetch_data("mnist", "cifar10")

    assert places == [str(SAMPLE / "mnist.npz"), str(SAMPLE / "cifar10.npz")]


@pytest.mark.parametrize(
    ("name", "error", "hint"),
    [
        ("mnits", UsageError, "Did you mean 'mnist'?"),
        ("imagenet", NotPossibleError, "image-net.org"),
    ],
)
def test_what_cannot_be_had_says_why(monkeypatch, name, error, hint):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))

    with pytest.raises(error) as caught:
        fetch_data(name)

    assert hint in caught.value.hint
