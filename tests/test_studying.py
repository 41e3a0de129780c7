"""Studies: what is asked for, how the budget is shared, and a slice of a real one."""

from __future__ import annotations

import json

import pytest

from assay import studying
from assay.contracts import Study, Variant
from assay.errors import UsageError
from assay.records import Result, Samples
from assay.stores import folders
from assay.workloads import studies
from tests.workloads.opened_all import QUICK


def test_the_matrix_has_every_backend_over_layout_and_compiler():
    asked = studying.ask("vgg16", size="small")

    cases = asked.plan.cases
    combinations = {(c.backend, c.options["data_format"], c.options["compiler"]) for c in cases}
    assert len(cases) == len(combinations) == 6 * 2 * 2
    assert {case.params["bn"] for case in cases} == {"none"}
    assert {case.params["image_size"] for case in cases} == {32}


def test_batch_norm_adds_four_variants_of_all():
    asked = studying.ask("vgg16", extras=["bn"])

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
    monkeypatch.setattr(studying, "_refusal", lambda case: "" if case.backend in can else "no")

    asked = studying.ask("vgg16", budget=240.0, rounds=3)

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

    cases = studying.ask("precision", backends=["jax"]).plan.cases

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
    ],
)
def test_bad_input_is_refused_before_anything_runs(name, given, message, home):
    with pytest.raises(UsageError, match=message):
        studying.ask(name, **given)

    assert not home.exists()


def test_a_kernel_that_a_framework_lacks_costs_no_process(monkeypatch):
    monkeypatch.setattr(studying.launch.registry.backend("jax").__class__, "missing", lambda _: "")
    asked = studying.ask("vgg16", extras=["bn"], backends=["jax"])

    refused = {studying._refusal(c) for c in asked.plan.cases if c.params["fused"]}
    assert refused == {"JAX has no fused batch norm: XLA fuses; drop fused=true"}


@pytest.mark.real("jax")
@pytest.mark.timeout(900)
def test_a_slice_of_a_study_runs_to_its_end_and_can_be_shown_again(assay, monkeypatch):
    monkeypatch.setattr(studying, "FEWEST_SECONDS", 0.02)
    for name, value in QUICK.items():
        monkeypatch.setenv(name, value)
    words = ("study", "vgg16", "--format", "json")

    status, out, err = assay(
        *(*words, "--size", "small", "--strict", "-b", "jax", "--rounds", "1", "--budget", "0.1")
    )
    again, shown, _ = assay(*words, "--resume", "last")
    _, once_more, _ = assay("show", "last", "--format", "json")

    found = json.loads(out)
    assert (status, again) == (0, 0), err
    assert "4 cases, at most 4 processes" in err and "4 of at most 4" in err
    assert [one["status"] for one in found["results"]] == ["ok"] * 4
    assert {row["option"] for row in found["bought"]} == {"compiler", "data_format"}
    assert found["floor"]["flops"] == 2 * 3 * 4 * found["floor"]["multiply_adds"]
    assert [one["what"] for one in found["fairness"]] == ["options"]
    assert json.loads(shown)["results"] == found["results"]
    assert once_more == shown


def test_a_study_that_is_cut_short_shows_what_there_is_and_how_to_go_on(assay, monkeypatch):
    def cut_short(group, visits, folder, procedure, watch):
        place, times = folders.new_case(folder), (0.1, 0.1, 0.1)
        yield Result(
            id=f"{folder.name}/{place.name}",
            case=group[0],
            procedure=procedure,
            status="ok",
            samples=(Samples(metric="step_time", unit="s", phase="steady", values=times),),
        )
        raise KeyboardInterrupt

    monkeypatch.setattr(studying.launch.registry.backend("jax").__class__, "missing", lambda _: "")
    monkeypatch.setattr(studying, "_visited", cut_short)

    status, out, err = assay("study", "vgg16", "--size", "small", "-b", "jax", "--budget", "2m")

    assert status == 130
    assert "at most 12 processes and 2.00 min of sampling" in err
    assert "100 ms" in out
    assert "to go on: assay study vgg16 --resume" in err


def test_a_run_that_is_no_study_cannot_be_gone_on_with_as_one(assay, endings):
    assay("run", f"{endings}:fine@python", "--samples", "1", "--budget", "0.1")

    status, _, err = assay("study", "vgg16", "--resume", "last")

    assert status == 2
    assert "is no study" in err
