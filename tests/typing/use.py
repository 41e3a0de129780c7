"""What a user writes, for mypy: right calls have no error, wrong ones have theirs.

A `type: ignore` that is not needed is an error under --strict.
"""

from __future__ import annotations

from pathlib import Path

import assay


def right() -> None:
    case = assay.Case(workload="mnist-mlp", backend="jax")
    for reading in assay.run(case, batch_size=[8, 32], budget="5s", store=Path("results")):
        print(reading.status)
    for repeated in assay.run("mnist-mlp@jax", options={"precision": "bfloat16"}, target=0.05):
        print(repeated.case.key, repeated.seconds + 1)
    for comparison in assay.ab(case, "mnist-mlp@torch", budget="10s", pairs=3, aa=False):
        verdict: str = comparison.verdict
        print(verdict, comparison.ratio.low)
    for race in assay.race("mnist-mlp", backends="jax", over={"batch_size": [8, 32]}):
        print(race.places[0].key)
    result: assay.Result = assay.train("lenet@torch", epochs=2, store="results")
    print(result.id, assay.summarize(result).quantities["accuracy"].value)
    print(assay.compare("before", "after", min_effect=0.02).differences)
    print(assay.check(fail_on=["step_time:3%"], confirm=True).alerts)


def misspelt() -> None:
    assay.run("a", bacth_size=32)  # type: ignore[call-arg]
    assay.ab("a", "b", bugdet="10s")  # type: ignore[call-arg]
    assay.check(falil_on=["step_time:3%"])  # type: ignore[call-arg]
    assay.train("a", epoch=2)  # type: ignore[call-arg]
    assay.compare("a", "b", home="results")  # type: ignore[call-arg]


def wrong_type() -> None:
    assay.run("a", processes="3")  # type: ignore[arg-type]
    assay.ab("a", "b", pairs="3")  # type: ignore[arg-type]
    assay.plot("last", "speed", "a.png")  # type: ignore[arg-type]
    assay.doctor(quick="yes")  # type: ignore[arg-type]


def no_such_name() -> None:
    assay.abba("a", "b")  # type: ignore[attr-defined]
