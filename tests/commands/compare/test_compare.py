"""Two sets of results: matched by case, refused by name, files of other tools among them."""

from __future__ import annotations

import json

import msgspec
import pytest

import assay
from assay.commands.compare.api import CompareOptions, compare_results
from assay.core.errors import UsageError
from assay.core.records import Case, Procedure, Result, Samples

NAMES = ("before", "after")


def results(seconds, workload="a", backend="b", processes=5, **more) -> list[Result]:
    """One result of so many processes, each a percent slower than the one before."""
    samples = tuple(
        Samples(
            metric="step_time",
            unit="s",
            phase="steady",
            values=(seconds * (1 + number / 100),) * 5,
            process=number,
        )
        for number in range(processes)
    )
    params = more.pop("params", {})
    case = Case(workload=workload, backend=backend, params=params, key=f"{workload}@{backend}")
    whole = {"id": "run/001", "procedure": Procedure(), "status": "ok", **more}
    return [Result(case=case, samples=samples, **whole)]


def test_cases_that_both_have_are_compared_and_the_rest_is_told():
    found = compare_results(
        results(1.0) + results(1.0, "x"), results(2.0) + results(1.0, "y"), NAMES
    )

    (one,) = found.differences
    assert (one.key, one.verdict, one.ratio) == ("a@b", "slower", pytest.approx(2.0))
    assert found.notes == ("only in before: x@b", "only in after: y@b")


def test_a_mean_for_each_backend():
    before = [r for name in "xy" for kind in ("jax", "torch") for r in results(1.0, name, kind)]
    after = [
        r
        for name in "xy"
        for kind, factor in (("jax", 2.0), ("torch", 0.5))
        for r in results(factor, name, kind)
    ]

    found = compare_results(before, after, NAMES, CompareOptions(by="backend"))

    told = {mean.group: (round(mean.ratio.value, 2), mean.verdict) for mean in found.means}
    assert told["backend jax"] == (2.0, "slower")
    assert told["backend torch"] == (0.5, "faster")
    assert told[""][0] == 1.0


def test_across_backends_cases_are_matched_by_the_rest():
    before = results(1.0, "x", "jax") + results(1.0, "y", "jax")
    after = results(2.0, "x", "torch") + results(3.0, "y", "torch")

    with pytest.raises(UsageError, match="have no case in common"):
        compare_results(before, after, NAMES)
    found = compare_results(before, after, NAMES, CompareOptions(across="backend"))

    assert [(one.key, round(one.ratio)) for one in found.differences] == [("x", 2), ("y", 3)]


def test_a_single_case_a_side_is_compared_whatever_it_is_called():
    found = compare_results(results(1.0, "x"), results(2.0, "y", "pyperf"), NAMES)

    assert found.differences[0].key == "x@b → y@pyperf"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"workload_version": "2"}, "version of the workload: 1 → 2"),
        ({"params": {"units": 64}}, "parameter units: 32 → 64"),
        ({"items": 8}, "items of a step: 4 → 8"),
        ({"facts": {"precision": "bfloat16"}}, "precision: float32 → bfloat16"),
    ],
)
def test_what_is_not_the_same_work_is_not_compared_unless_wanted(changed, words):
    base = {"workload_version": "1", "params": {"units": 32}, "items": 4}
    base["facts"] = {"precision": "float32"}
    before, after = results(1.0, **base), results(2.0, **{**base, **changed})

    (one,) = compare_results(before, after, NAMES).differences
    (anyway,) = compare_results(before, after, NAMES, CompareOptions(anyway=True)).differences

    assert (one.verdict, one.notes) == ("not-comparable", (words,))
    assert (anyway.verdict, anyway.notes) == ("slower", (words,))


def test_units_that_differ_are_never_compared():
    before, after = results(1.0), results(2.0)
    (part, *rest) = after[0].samples
    parts = (msgspec.structs.replace(p, unit="ms") for p in (part, *rest))
    after = [msgspec.structs.replace(after[0], samples=tuple(parts))]

    (one,) = compare_results(before, after, NAMES, CompareOptions(anyway=True)).differences

    assert (one.verdict, one.notes) == ("not-comparable", ("unit: s → ms",))


def test_files_of_two_tools_are_compared(tmp_path):
    for name, factor in (("one", 1.0), ("two", 2.0)):
        times = [factor * (1 + n / 100) for n in range(5)]
        document = {"results": [{"command": "ls", "times": times}]}
        (tmp_path / f"{name}.json").write_text(json.dumps(document))

    found = assay.compare(tmp_path / "one.json", tmp_path / "two.json")

    assert (found.baseline, found.candidate) == ("one.json", "two.json")
    assert found.differences[0].verdict == "slower"


@pytest.mark.parametrize(
    ("how", "complaint"),
    [
        (CompareOptions(metric="loss"), "have no metric in common named 'loss'"),
        (CompareOptions(by="colour"), "no parameter or option named 'colour'"),
        (CompareOptions(across="colour"), "no parameter or option named 'colour'"),
    ],
)
def test_what_is_not_there_is_an_error(how, complaint):
    with pytest.raises(UsageError, match=complaint):
        compare_results(results(1.0), results(1.0), NAMES, how)


def test_failed_results_leave_nothing_to_compare():
    with pytest.raises(UsageError, match="have no metric in common"):
        compare_results(results(1.0), results(1.0, status="failed"), NAMES)
