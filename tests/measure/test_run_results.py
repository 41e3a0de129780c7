"""Results of run and evaluate for Python: streams, rows and the best."""

from __future__ import annotations

import pandas
import pytest

import assay
from assay.core.errors import AssayError

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


def test_rows_have_a_column_per_parameter_and_metric(sizes):
    results = sizes()
    rows = results.to_dicts()
    frame = results.to_pandas()

    assert [row["size"] for row in rows] == [100, 100_000]
    assert rows[0]["step_time_low"] <= rows[0]["step_time"] <= rows[0]["step_time_high"]
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["status"]) == ["ok", "ok"]


def test_the_best_is_the_fastest(sizes):
    results = sizes()

    assert results.best.case.params["size"] == 100
    assert len(results) == 2
    assert results[1].case.params["size"] == 100_000
    assert [result.id for result in results[:1]] == [results[0].id]


def test_without_a_usable_result_the_best_says_why(sizes):
    with pytest.raises(AssayError, match=r"no result to choose from .*raises.*ValueError: no good"):
        _ = sizes("raises").best


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
