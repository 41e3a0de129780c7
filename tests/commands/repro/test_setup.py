"""What a result needs to be measured again, and what of it is not here."""

from __future__ import annotations

import msgspec
import pytest

from assay.commands.repro import setup
from assay.core.records import Case, Environment, Procedure, Result, Samples
from assay.measure.machine import environment

RESULT = Result(
    id="20261116-000000-abcd/001",
    case=Case(
        workload="mnist-mlp",
        backend="jax",
        params={"batch_size": 32, "units": 64},
        options={"threads": "all"},
        key="mnist-mlp:units=64@jax",
    ),
    procedure=Procedure(samples=5, budget=2.0, latency=True),
    status="ok",
    samples=(Samples(metric="step_time", unit="s", phase="steady", values=(1.0, 2.0)),),
    workload_version="1",
)


def with_environment(**parts) -> Result:
    return msgspec.structs.replace(RESULT, environment=Environment(**parts))


def with_case(**parts) -> Result:
    return msgspec.structs.replace(RESULT, case=msgspec.structs.replace(RESULT.case, **parts))


def test_the_command_has_what_is_not_usual():
    expected = "assay run mnist-mlp:units=64@jax --budget 2 --samples 5 --latency"

    assert setup.command(RESULT) == expected


@pytest.mark.parametrize(
    "changed",
    [
        with_case(params={"batch_size": 64, "units": 64}),
        with_case(options={"threads": 1}),
        msgspec.structs.replace(RESULT, workload_version="2"),
        msgspec.structs.replace(RESULT, procedure=Procedure()),
    ],
)
def test_the_hash_of_the_inputs_changes_with_each_of_them(changed):
    assert setup.input_files(changed) != setup.input_files(RESULT)
    assert setup.input_files(with_environment(packages={"jax": "9"})) == setup.input_files(RESULT)


def test_a_repro_id_is_short_and_stays():
    found = setup.repro_id(RESULT)

    assert setup.REPRO.fullmatch(found)
    assert setup.repro_id(msgspec.structs.replace(RESULT, label="new")) == found
    assert setup.repro_id(msgspec.structs.replace(RESULT, id="other/001")) != found


@pytest.mark.parametrize(
    ("result", "words"),
    [
        pytest.param(
            with_environment(packages={"no-such-package": "1.2"}),
            "package no-such-package 1.2",
            marks=pytest.mark.real("jax"),
        ),
        (with_case(workload="nowhere/my.py:net"), "file nowhere/my.py"),
        (with_case(workload="no-such-net"), "case: There is no workload named 'no-such-net'"),
        (with_case(params={"colour": 3}), "case: There is no parameter of mnist-mlp named"),
        (with_case(params={"weights": "/nowhere/a.npz"}), "data /nowhere/a.npz"),
        (with_case(options={"python": "/nowhere/venv"}), "Python /nowhere/venv"),
        (msgspec.structs.replace(RESULT, samples=()), "a way to run it: it has no step times"),
        (with_case(backend="pyperf"), "a way to run it: pyperf is no backend of assay run"),
    ],
)
def test_what_is_missing_is_named(result, words):
    found = setup.missing_parts(result)

    assert len(found) == 1
    assert found[0].startswith(words)


def test_a_gpu_that_is_not_here_is_missing():
    if environment.current_environment().machine.get("gpus"):
        pytest.skip("not applicable: there is a GPU")
    result = msgspec.structs.replace(
        with_environment(machine={"gpu0": "H200"}), facts={"device": "gpu:0"}
    )

    assert "device gpu:0 H200" in setup.missing_parts(result)


def test_what_is_here_but_not_as_it_was_is_named():
    result = with_environment(
        packages={"msgspec": "0.0.1", "Click": setup.installed_packages(RESULT.case)["click"]},
        machine={"cpu": "an older one"},
        git={"commit": "f" * 40},
    )

    package, cpu, commit = setup.changed_packages(result)

    assert package.startswith("msgspec: 0.0.1 → ")
    assert cpu.startswith("cpu: an older one → ")
    assert commit.startswith("commit: ffffffffffff → ")
