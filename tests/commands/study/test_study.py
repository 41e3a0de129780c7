"""Studies: what is asked for, and how the budget is shared."""

from __future__ import annotations

import pytest

from assay.commands.study import api
from assay.core.contracts import Study, Variant
from assay.core.errors import UsageError
from assay.workloads import studies


def test_the_matrix_has_every_backend_over_layout_and_compiler():
    asked = api.request("vgg16", size="small")

    cases = asked.plan.cases
    combinations = {(c.backend, c.options["data_format"], c.options["compiler"]) for c in cases}
    assert len(cases) == len(combinations) == 6 * 2 * 2
    assert {case.params["bn"] for case in cases} == {"none"}
    assert {case.params["image_size"] for case in cases} == {32}


def test_batch_norm_adds_four_variants_of_all():
    asked = api.request("vgg16", extras=["bn"])

    kinds = {(case.params["bn"], case.params["fused"]) for case in asked.plan.cases}
    assert len(asked.plan.cases) == 5 * 24
    assert kinds == {
        ("none", False),
        ("mode0", False),
        ("mode2", False),
        ("mode0", True),
        ("mode2", True),
    }


def test_the_budget_is_shared_by_rounds_and_by_what_can_run(monkeypatch):
    can = {"jax", "torch"}
    monkeypatch.setattr(api, "_refusal", lambda case: "" if case.backend in can else "no")

    asked = api.request("vgg16", budget=240.0, rounds=3)

    assert asked.plan.procedure.budget == pytest.approx(240 / 3 / 8)


def test_a_second_study_is_a_few_lines(monkeypatch):
    small = Study(
        summary="what short types buy",
        workload="mnist-mlp",
        sizes={"full": {}},
        rows=("mode", ("train", "infer")),
        columns=("precision", ("float32", "bfloat16")),
        variants=(Variant(title="as it is"),),
    )
    monkeypatch.setitem(studies.STUDIES, "precision", small)

    cases = api.request("precision", backends=["jax"]).plan.cases

    assert [(case.options["mode"], case.options["precision"]) for case in cases] == [
        ("train", "float32"),
        ("train", "bfloat16"),
        ("infer", "float32"),
        ("infer", "bfloat16"),
    ]


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("vgg17", {}, "no study named 'vgg17'"),
        ("vgg16", {"size": "huge"}, "no size 'huge'"),
        ("vgg16", {"extras": ["gn"]}, "no gn"),
        ("vgg16", {"backends": ["jaxx"]}, "no backend named 'jaxx'"),
        ("vgg16", {"options": {"precision": "int3"}}, "precision of"),
        ("vgg16", {"budget": 0.0}, "budget is 0"),
        ("vgg16", {"rounds": 0}, "rounds is 0"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(name, given, message, home):
    with pytest.raises(UsageError, match=message):
        api.request(name, **given)

    assert not home.exists()


def test_a_kernel_that_a_framework_lacks_costs_no_process(monkeypatch):
    monkeypatch.setattr(api.registry.backend("jax").__class__, "missing", lambda _: "")
    asked = api.request("vgg16", extras=["bn"], backends=["jax"])

    refused = {api._refusal(c) for c in asked.plan.cases if c.params["fused"]}
    assert refused == {"JAX has no fused batch norm: XLA fuses; drop fused=true"}


def test_over_takes_any_workload_and_mixes_parameters_with_options():
    asked = api.request(
        "mnist-mlp", over={"batch_size": [8, 16], "precision": ["float32", "bfloat16"]}, rounds=2
    )

    cases = asked.plan.cases
    per_backend = {(case.params["batch_size"], case.options["precision"]) for case in cases}
    backends = {case.backend for case in cases}
    assert asked.study is None
    assert per_backend == {(8, "float32"), (8, "bfloat16"), (16, "float32"), (16, "bfloat16")}
    assert len(cases) == 4 * len(backends)
    assert "native" not in backends


def test_over_with_an_unknown_option_lists_those_of_the_workload_and_the_backend():
    with pytest.raises(UsageError, match="'foo' is no parameter of mnist-mlp") as caught:
        api.request("mnist-mlp", backends=["torch"], over={"foo": [1, 2]})

    assert "batch_size, units, hidden, seed" in caught.value.hint
    assert "cuda_graphs" in caught.value.hint


def test_one_value_of_each_axis_is_no_study():
    with pytest.raises(UsageError, match="two cases or more"):
        api.request("mnist-mlp@torch", over={"precision": ["float32"]})


def test_a_size_belongs_to_a_named_study():
    with pytest.raises(UsageError, match="--over was given with --size"):
        api.request("mnist-mlp", over={"precision": ["float32", "bfloat16"]}, size="small")


def test_a_workload_without_over_is_told_how():
    with pytest.raises(UsageError, match="no study named 'mnist-mlp'") as caught:
        api.request("mnist-mlp")

    assert "assay study mnist-mlp --over" in caught.value.hint
