"""What public functions return: streams, tables, rows and the best."""

from __future__ import annotations

import sys

import pytest

import assay
from assay.core.errors import AssayError, UsageError
from assay.core.findings import Table
from assay.reporting.python_view import States, TableView, _html_table


@pytest.fixture
def test_html_is_escaped():
    table = Table(title="a < b", columns=("<i>",), rows=(("<script>",),), notes=("x & y",))
    text = _html_table(table)

    assert "<script>" not in text
    assert "&lt;script&gt;" in text and "a &lt; b" in text and "x &amp; y" in text


def test_to_pandas_without_pandas_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(UsageError, match="pandas is not installed") as caught:
        TableView().to_pandas()
    assert "assay-lab[pandas]" in caught.value.hint


def test_a_comparison_prints_as_its_verdict_and_has_a_best(home, endings):
    comparisons = assay.ab(
        f"{endings}:fine:size=100@python",
        f"{endings}:fine:size=1000000@python",
        budget="20s",
        pairs=4,
        outputs=False,
    )

    assert str(comparisons).startswith("slower: the candidate's step_time is")
    assert comparisons.best == comparisons.last.baseline
    assert [row["ratio"] > 10 for row in comparisons.to_dicts()] == [True] * len(
        comparisons.last.pairs
    )


def test_an_undecided_comparison_has_no_best(home, endings):
    comparisons = assay.ab(f"{endings}:fine@python", aa=True, budget="2s", pairs=2)

    with pytest.raises(AssayError, match="Neither is faster: "):
        _ = comparisons.best


def test_nothing_measured_is_said():
    empty = States(iter(()), output=None, rows=None, best=None)

    with pytest.raises(AssayError, match="Nothing was measured"):
        _ = empty.last
