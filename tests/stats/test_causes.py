"""What differs between two results, most likely reason first."""

from __future__ import annotations

import msgspec
import pytest

from assay.core.records import Case, Environment, Procedure, Result
from assay.stats.causes import differences

HERE = Environment(
    machine={"cpu": "EPYC", "cpus_allowed": 2, "load_average": 0.1, "memory_available": 5},
    system={"kernel": "6.1", "hostname": "a", "cudnn": "9.1"},
    python={"version": "3.12"},
    packages={"jax": "0.9.0", "click": "8.1"},
    variables={"XLA_FLAGS": "", "OMP_NUM_THREADS": "2"},
    git={"commit": "a" * 40, "dirty": False},
)
BEFORE = Result(
    id="r/001",
    case=Case(workload="w", backend="b", params={"batch_size": 8}, key="w@b"),
    procedure=Procedure(),
    status="ok",
    environment=HERE,
    facts={"dtype": "float32", "metric loss": "found"},
    peaks={"gpu_clock": 1000.0, "memory": 5.0},
)


def with_environment(**parts: dict) -> Result:
    changed = {name: {**getattr(HERE, name), **part} for name, part in parts.items()}
    return msgspec.structs.replace(BEFORE, environment=msgspec.structs.replace(HERE, **changed))


def test_the_same_differs_in_nothing():
    assert differences(BEFORE, with_environment(machine={"memory_available": 3})) == []


@pytest.mark.parametrize(
    ("parts", "kind", "what", "matters"),
    [
        ({"packages": {"jax": "0.10.2"}}, "package", "jax", True),
        ({"packages": {"click": "8.2"}}, "package", "click", False),
        ({"variables": {"OMP_NUM_THREADS": "1"}}, "variable", "OMP_NUM_THREADS", True),
        ({"machine": {"governor": "powersave"}}, "clock", "governor", True),
        ({"machine": {"load_average": 3.0}}, "neighbours", "load_average", True),
        ({"system": {"cudnn": "9.2"}}, "driver", "cudnn", True),
        ({"python": {"version": "3.13"}}, "python", "python", False),
        ({"git": {"commit": "b" * 40}}, "commit", "commit", True),
    ],
)
def test_each_kind_is_told_and_whether_it_is_known_to_matter(parts, kind, what, matters):
    (found,) = differences(BEFORE, with_environment(**parts))

    assert (found.kind, found.what, bool(found.why)) == (kind, what, matters)


def test_the_likeliest_comes_first_and_names_its_proof():
    found = differences(
        BEFORE,
        with_environment(packages={"jax": "0.10.2", "click": "8.2"}, git={"commit": "b" * 40}),
    )

    assert [one.what for one in found] == ["jax", "commit", "click"]
    assert found[0].proof == "assay bisect --good jax==0.9.0 --bad jax==0.10.2 'w@b'"
    assert found[1].proof == f"assay ab 'w@b' --commit {'a' * 12} --commit {'b' * 12}"


def test_other_work_is_the_first_reason():
    case = msgspec.structs.replace(BEFORE.case, params={"batch_size": 16}, key="w:batch_size=16@b")

    found = differences(BEFORE, msgspec.structs.replace(BEFORE, case=case))

    assert (found[0].what, found[0].weight) == ("batch_size", 100)
    assert found[0].proof == "assay ab 'w@b' 'w:batch_size=16@b'"


def test_facts_and_peaks_are_compared():
    after = msgspec.structs.replace(
        BEFORE, facts={"dtype": "bfloat16"}, peaks={"gpu_clock": 700.0, "memory": 5.1}
    )

    assert [one.what for one in differences(BEFORE, after)] == ["dtype", "gpu_clock"]


def test_consequences_and_outputs_are_last_without_values_and_are_no_cause():
    before = msgspec.structs.replace(
        BEFORE, facts={"parameters": 10, "outputs_norm": 1.23456, "layout": "a"}
    )
    after = msgspec.structs.replace(
        BEFORE, facts={"parameters": 20, "outputs_norm": 7.89012, "layout": "b"}
    )

    first, *others = differences(before, after)

    assert first.what == "layout" and first.why
    assert {each.what: (each.before, each.after, each.why) for each in others} == {
        "outputs_norm": ("recorded", "recorded", ""),
        "parameters": ("10", "20", ""),
    }


def test_a_load_that_changed_by_a_twentieth_is_no_cause():
    loads = [
        with_environment(machine={"load_average": load, "cpus_allowed": 2})
        for load in (12.99, 13.61)
    ]

    assert differences(*loads) == []
