"""What an option bought is told by pairs that differ in it alone."""

from __future__ import annotations

import pytest

from assay.core.findings import Quantity, SummarizedResult, Summary
from assay.core.records import Case, Procedure, Result
from assay.stats.option_effects import effects_table, option_effects


def reading(seconds: float, items: int = 1, backend: str = "b", **options: str) -> SummarizedResult:
    step = Quantity(value=seconds, low=seconds, high=seconds, unit="s", estimator="median", n=9)
    case = Case(workload="w", backend=backend, options=dict(options))
    result = Result(id="r/001", case=case, procedure=Procedure(), status="ok", items=items)
    return SummarizedResult(
        result=result, summary=Summary(quantities={"step_time": step} if seconds else {})
    )


def test_a_single_difference_is_a_purchase():
    (purchase,) = option_effects([reading(2, compiler="off"), reading(1, compiler="on")])

    assert (purchase.setting, purchase.before, purchase.after) == ("compiler", "off", "on")
    assert purchase.ratio == 0.5


def test_pairs_are_averaged_by_the_geometric_mean():
    found = option_effects(
        [
            reading(1, compiler="off", layout="first"),
            reading(4, compiler="on", layout="first"),
            reading(1, compiler="off", layout="last"),
            reading(1, compiler="on", layout="last"),
        ]
    )

    compiler = next(p for p in found if p.setting == "compiler")
    assert compiler.ratio == pytest.approx(2)
    assert sorted(compiler.ratios) == [1, 4]


def test_an_option_has_one_direction_in_whatever_order_its_values_came():
    found = option_effects(
        [
            reading(1, compiler="off", layout="first"),
            reading(4, compiler="on", layout="first"),
            reading(9, compiler="on", layout="last"),
            reading(1, compiler="off", layout="last"),
        ]
    )

    (compiler,) = [p for p in found if p.setting == "compiler"]
    assert (compiler.before, compiler.after) == ("off", "on")
    assert compiler.ratio == pytest.approx(6)


def test_two_differences_prove_nothing():
    assert option_effects([reading(1, a="1", b="1"), reading(2, a="2", b="2")]) == []


def test_other_backends_have_other_options_and_are_not_compared():
    assert option_effects([reading(1, a="1"), reading(2, backend="c", z="1")]) == []


def test_batch_sizes_are_compared_by_the_item():
    (purchase,) = option_effects([reading(1, items=1, batch="1"), reading(2, items=4, batch="4")])

    assert purchase.ratio == 0.5


def test_a_case_without_a_number_is_left_out():
    assert option_effects([reading(0, a="1"), reading(1, a="2")]) == []


def test_the_greatest_effect_stands_first():
    found = option_effects(
        [reading(10, a="0", b="0"), reading(9, a="1", b="0"), reading(1, a="0", b="1")]
    )

    assert [purchase.setting for purchase in found] == ["b", "a"]
    assert effects_table(found).rows[0][3] == "x 0.10"
