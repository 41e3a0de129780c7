"""assay vgg16: the flags of the study's main.py, and the mean as it was printed."""

from __future__ import annotations

import pytest

from assay.commands.run import api
from assay.core.records import Case, Procedure, Result, Samples

SMALL = ("--batch_size", "1", "--image_size", "32")


def ended(case: str, status: str = "ok") -> Result:
    mean = Samples(metric="step_time", unit="s", phase="steady", values=(0.25,), steps=2)
    return Result(
        id="run/001",
        case=Case(workload="vgg16", backend="b", key=case),
        procedure=Procedure(),
        status=status,
        reason="" if status == "ok" else "no good",
        samples=(mean,) if status == "ok" else (),
    )


@pytest.mark.real("torch")
def test_the_mean_is_printed_as_it_was(assay):
    words = ("--run_pytorch", "--batch_size", "1", "--n_trials", "2", "--image_size", "32")
    status, out, _ = assay("vgg16", *words)

    assert status == 0
    assert "torch version: " in out
    assert float(out.partition("Mean Time per update:")[2].split()[0]) > 0


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "None of --run_keras"),
        (("--run_keras", "--keras_backend", "theano"), "any more"),
        (("--run_tensorflow", "--data_format", "HWC"), "has to be NHWC or NCHW"),
        (("--run_tensorflow", "--use_fused"), "without --use_bn"),
    ],
)
def test_misuse_of_the_study_is_said(assay, words, complaint):
    status, _, error = assay("vgg16", *words)

    assert status == 2
    assert complaint in error


def test_a_case_that_fails_is_said_and_the_next_is_measured(assay, monkeypatch):
    def measure(first, second, **_):
        yield ended(first, "failed")
        yield ended(second)

    monkeypatch.setattr(api, "run", measure)

    status, out, _ = assay("vgg16", "--run_tensorflow", "--run_pytorch", *SMALL)

    assert status == 1
    assert "failed: no good" in out
    assert "Mean Time per update: 250.000 ms" in out


def test_all_trials_are_timed_together(assay, monkeypatch):
    asked = []
    monkeypatch.setattr(api, "run", lambda *_, procedure, **__: asked.append(procedure) or ())

    assay("vgg16", "--run_pytorch", "--n_trials", "7", *SMALL)

    assert [(one.samples, one.steps_per_sample) for one in asked] == [(1, 7)]


@pytest.mark.parametrize("count", ["0", "-1"])
def test_a_number_of_trials_below_one_is_refused_by_its_own_name(assay, monkeypatch, count):
    monkeypatch.setattr(api, "run", lambda *_, **__: iter(()))  # none may be measured

    status, out, error = assay("vgg16", "--run_pytorch", "--n_trials", count, *SMALL)

    assert (status, out) == (2, "")
    assert "n_trials" in error
