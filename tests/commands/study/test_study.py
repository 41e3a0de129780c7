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
