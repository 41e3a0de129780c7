"""What public functions return: streams, tables, rows and the best."""

from __future__ import annotations

import sys

import pytest

import assay
from assay.core.errors import AssayError, UsageError
from assay.core.findings import Table
from assay.reporting.python_view import States, _html_table

QUICK = assay.Procedure(samples=3, steps_per_sample=1)


@pytest.fixture
def sizes(home, endings):
    """Two sizes of a sum; the second is 1,000 times the work."""

    def run(*names):
        cases = names or ("fine:size=100", "fine:size=100000")
        return assay.run(*(f"{endings}:{name}@python" for name in cases), procedure=QUICK)

    return run


def test_iterating_yields_each_result_when_it_is_ready(sizes):
    results = sizes()
    first = next(iter(results))

    assert first.case.params["size"] == 100
    assert len(assay.read_results()) == 1  # the other is not measured yet
    assert [result.case.params["size"] for result in results] == [100, 100_000]


def test_iterating_twice_measures_once(sizes):
    results = sizes()

    assert [r.id for r in results] == [r.id for r in results]
    assert len(assay.read_results()) == 2


def test_results_print_as_a_table(sizes):
    results = sizes()

    assert "step time" in str(results) and "size=100000" in str(results)
    assert repr(results) == str(results)
    assert results._repr_html_().count("<tr>") == 3
    assert "fine:size=100000" in results._repr_html_()


def test_html_is_escaped():
    table = Table(title="a < b", columns=("<i>",), rows=(("<script>",),), notes=("x & y",))
    text = _html_table(table)

    assert "<script>" not in text
    assert "&lt;script&gt;" in text and "a &lt; b" in text and "x &amp; y" in text


def test_results_received_before_an_interrupt_are_kept(sizes, monkeypatch):
    from assay.measure import case as engine

    real = engine.measure_case

    def interrupt_second(case, procedure, place, *more):
        if place.id.endswith("002"):
            raise KeyboardInterrupt
        return real(case, procedure, place, *more)

    monkeypatch.setattr(engine, "measure_case", interrupt_second)
    results = sizes()
    with pytest.raises(KeyboardInterrupt):
        str(results)

    assert [row["size"] for row in results.to_dicts()] == [100]


def test_to_pandas_without_pandas_names_the_extra(sizes, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(UsageError, match="pandas is not installed") as caught:
        sizes("fine").to_pandas()
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
