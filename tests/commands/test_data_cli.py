"""assay data: list and fetch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[1] / "data" / "pictures"


@pytest.fixture(autouse=True)
def sample(monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))


def test_list_says_where_each_is_or_how_to_get_it(assay):
    status, out, _ = assay("data", "list", "--format", "json")
    rows = {row["dataset"]: row for row in json.loads(out)["rows"]}

    assert status == 0
    assert rows["cifar10"]["place"] == str(SAMPLE / "cifar10.npz")
    assert rows["cifar10"]["tune"] == "75"
    assert rows["cifar100"]["note"] == "assay data fetch cifar100"


def test_fetch_prints_the_places(assay):
    status, out, _ = assay("data", "fetch", "mnist", "cifar10")

    assert status == 0
    assert out.splitlines() == [str(SAMPLE / "mnist.npz"), str(SAMPLE / "cifar10.npz")]


def test_fetch_refuses_an_unknown_name_with_the_nearest(assay):
    status, _, err = assay("data", "fetch", "mnits")

    assert status == 2
    assert "no dataset named 'mnits'" in err
    assert "Did you mean 'mnist'?" in err


def test_what_cannot_be_fetched_leaves_with_3(assay):
    status, _, err = assay("data", "fetch", "imagenet")

    assert status == 3
    assert "image-net.org" in err
