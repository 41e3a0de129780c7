"""Seeded unfairness is caught in real contenders, and fair ones are not accused."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.commands.ab import api
from assay.commands.race import api as race
from assay.commands.run import api as run
from assay.core.records import Procedure
from assay.stats.fairness.checks import fairness

NETS = Path(__file__).parents[1] / "data" / "unfair.py"
QUICK = Procedure(samples=1, budget=0.1, steps_per_sample=1)
pytestmark = pytest.mark.real("jax", "torch")


def found(name: str, *backends: str, **options) -> dict[str, str]:
    """What is unfair, and the sentence."""
    results = list(
        run.run(f"{NETS}:{name}", backends=backends or ["jax", "torch"], procedure=QUICK, **options)
    )
    assert [result.status for result in results] == ["ok"] * len(results), results[-1].reason
    return {one.what: one.text for one in fairness(results) if one.unfair}


def test_fair_contenders_are_not_accused():
    assert found("Fair") == {}


def test_tf32_in_one_is_caught():
    assert found("Tf32") == {"tf32": "TF32 differs at precision float32: off in jax; on in torch"}


def test_a_short_dtype_in_one_is_caught_by_its_products_and_its_outputs():
    unfair = found("Half")

    assert unfair.keys() == {"product_dtypes", "outputs"}
    assert unfair["product_dtypes"] == (
        "torch computes products in float16, though float32 was chosen"
    )


def test_a_missing_wait_is_caught():
    assert found("Unwaited").keys() == {"unwaited"}


def test_the_precision_that_a_case_asked_for_is_not_blamed():
    assert found("Fair", options={"precision": ["float32", "bfloat16"]}) == {}


def test_a_wider_layer_is_refused_with_a_sentence_or_noted_under_the_table(assay):
    words = ("-b", "jax,torch", "--samples", "1", "--budget", "0.1")

    status, out, err = assay("run", f"{NETS}:Wider", "--strict", *words)
    later, shown, _ = assay("show", "last")

    assert (status, out, later) == (1, "", 0)
    assert "refused: " in err and "293 in jax; 311 in torch." in err and "kept as" in err
    assert "note: UNFAIR: " in shown and "293 in jax; 311 in torch" in shown


def test_a_wider_layer_stands_beside_the_verdict_of_a_comparison_and_of_a_race():
    cases = [f"{NETS}:Wider@{backend}" for backend in ("jax", "torch")]
    *_, compared = api.ab(*cases, pairs=1, budget=10.0)
    over = {"precision": ["float32"], "compiler": ["off"]}
    *_, raced = race.race(f"{NETS}:Wider", backends=["jax", "torch"], over=over, budget=1.0)

    for notes in (compared.notes, raced.notes):
        assert any(note.startswith("UNFAIR: ") and "293 in jax" in note for note in notes)
