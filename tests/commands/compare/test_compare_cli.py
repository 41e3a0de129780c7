"""assay compare: tables, JSON, exit status."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def labels(assay, tmp_path) -> None:
    """Two labels of the same two commands; one of them is slower in the second."""
    for label, factor in (("before", 1.0), ("after", 2.0)):
        rows = [
            {"command": "ls", "times": [factor * (1 + n / 1000) for n in range(5)]},
            {"command": "pwd", "times": [1 + n / 1000 for n in range(5)]},
        ]
        path = tmp_path / f"{label}.json"
        path.write_text(json.dumps({"results": rows}))
        assert assay("import", str(path), "--label", label)[0] == 0


@pytest.mark.usefixtures("labels")
def test_two_labels_side_by_side(assay):
    status, out, _ = assay("compare", "before", "after")

    lines = [line.split() for line in out.splitlines()]
    assert status == 0
    assert next(line for line in lines if line[:1] == ["ls@hyperfine"])[-1] == "slower"
    assert next(line for line in lines if line[:1] == ["pwd@hyperfine"])[-1] == "same"
    assert next(line for line in lines if line[:2] == ["all", "cases"])[-1] == "slower"


@pytest.mark.usefixtures("labels")
def test_json_has_every_difference_with_its_interval(assay):
    _, out, _ = assay("compare", "before", "after", "--format", "json")

    document = json.loads(out)
    assert (document["schema"], document["kind"]) == (1, "differences")
    assert document["differences"][0]["ratio"] == pytest.approx(2.0)
    assert document["means"][0]["ratio"]["n"] == 2


@pytest.mark.usefixtures("labels")
@pytest.mark.parametrize(
    ("words", "status"),
    [(("before", "after"), 5), (("after", "before"), 0), (("before", "before"), 0)],
)
def test_a_gate_leaves_with_5_if_something_is_slower(assay, words, status):
    assert assay("compare", *words, "--gate")[0] == status


@pytest.mark.usefixtures("labels")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("before", "nobody"), "'nobody' means no result here"),
        (("before",), "Missing argument 'CANDIDATE'"),
        (("before", "after", "--by", "bakend"), "no parameter or option named 'bakend'"),
        (("before", "after", "--min-effect", "-1"), "has to be between 0 and 1"),
    ],
)
def test_a_mistake_is_one_sentence_and_status_two(assay, words, complaint):
    status, out, error = assay("compare", *words)

    assert (status, out) == (2, "")
    assert complaint in error
