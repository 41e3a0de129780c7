from __future__ import annotations

import msgspec
import pytest

from assay.commands.compare.comparable import mismatches
from assay.core.records import Case, Environment, Procedure, Result

RESULT = Result(
    id="run/001",
    case=Case(
        workload="a",
        backend="b",
        params={"batch_size": 32, "units": 64},
        options={"precision": "float32", "threads": 2},
        key="a@b",
    ),
    procedure=Procedure(),
    status="ok",
    items=32,
    workload_version="1",
    environment=Environment(
        machine={"cpu": "old", "cpus": 2},
        system={"hostname": "one"},
        python={"version": "3.11"},
        packages={"jax": "1", "keras": "3"},
        git={"commit": "a" * 40},
    ),
)


def other(**changes) -> Result:
    case = {n: changes.pop(n) for n in ("params", "options") if n in changes}
    here = {n: changes.pop(n) for n in ("machine", "system", "packages", "git") if n in changes}
    replace = msgspec.structs.replace
    return replace(
        RESULT,
        case=replace(RESULT.case, **case),
        environment=replace(RESULT.environment, **here),
        **changes,
    )


def test_a_result_is_like_itself():
    assert mismatches(RESULT, RESULT) == ([], [])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (other(workload_version="2"), "version of the workload: 1 → 2"),
        (other(params={"batch_size": 64, "units": 64}), "parameter batch_size: 32 → 64"),
        (other(options={"precision": "bfloat16"}), "precision: float32 → bfloat16"),
        (other(items=64), "items of a step: 32 → 64"),
    ],
)
def test_what_is_other_work_is_refused_by_name(changed, words):
    assert mismatches(RESULT, changed) == ([words], [])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (other(machine={"cpu": "new", "cpus": 2}), "cpu: old → new"),
        (other(system={"hostname": "two"}), "host: one → two"),
        (other(packages={"jax": "2", "keras": "3"}), "jax: 1 → 2"),
        (other(options={"precision": "float32", "threads": 1}), "option threads: 2 → 1"),
        (other(git={"commit": "a" * 40, "dirty": True}), f"commit: {'a' * 12} → {'a' * 12} with "),
    ],
)
def test_what_may_have_made_the_difference_is_noted_by_name(changed, words):
    refused, noted = mismatches(RESULT, changed)

    assert refused == []
    assert len(noted) == 1 and noted[0].startswith(words)


def test_what_one_of_them_does_not_tell_is_not_held_against_it():
    nothing = Result(id="", case=RESULT.case, procedure=Procedure(), status="ok")
    bare = msgspec.structs.replace(nothing, case=Case(workload="a", backend="pyperf"))

    assert mismatches(RESULT, bare) == ([], [])
