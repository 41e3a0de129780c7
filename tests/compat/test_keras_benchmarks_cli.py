"""assay keras-benchmarks: the old flags, and the old table's row on standard output."""

from __future__ import annotations

import json

import pytest

from assay.commands.run import api
from assay.core.records import Case, Procedure, Result, Samples


def ended(case: str, status: str = "ok", reason: str = "") -> Result:
    """What a model's fit gave: four epochs of ten steps."""
    epochs = Samples(metric="step_time", unit="s", phase="steady", values=(0.1, 0.2, 0.3), steps=10)
    return Result(
        id="run/001",
        case=Case(workload=case.partition("@")[0], backend="keras-jax", key=case),
        procedure=Procedure(),
        status=status,
        reason=reason,
        samples=(epochs,) if status == "ok" else (),
        items=32,
    )


@pytest.mark.real("jax", "keras")
def test_a_dry_run_prints_the_old_row_and_keeps_nothing(assay, home):
    words = ("--mode", "cpu_config", "--model_name", "mnist_mlp", "--dry_run")
    status, out, _ = assay("keras-benchmarks", *words, "--keras_backend", "jax")

    row = json.loads(out)
    assert status == 0
    assert (row["test_name"], row["keras_backend"]["type"]) == ("mnist_mlp", "jax")
    assert row["metrics"]["epochs"] == 3
    assert row["metrics"]["total_time"] > 0
    assert row["cpu_info"]["num_cores"] >= 1
    assert row["keras_version"]
    assert not (home / "runs").exists()


@pytest.mark.parametrize(
    ("words", "status", "complaint"),
    [
        (("--mode", "multi_gpu_config", "--model_name", "lstm"), 3, "several GPUs"),
        (("--mode", "cpu", "--model_name", "lstm"), 2, "no mode of keras-benchmarks"),
        (("--model_name", "lstmm"), 2, "no model of keras-benchmarks named 'lstmm'"),
        (("--model_name", "lstm", "--keras_backend", "theano"), 2, "any more"),
    ],
)
def test_what_the_old_tool_cannot_do_here_is_said(assay, words, status, complaint):
    left, _, error = assay("keras-benchmarks", *words)

    assert left == status
    assert complaint in error


@pytest.mark.parametrize(
    ("text", "variable", "engine"),
    [
        ('{"backend": "jax"}', "", "jax"),
        ('{"backend": "jax"}', "torch", "torch"),
        ('{"floatx": "float32"}', "", "tensorflow"),
        (None, "", "tensorflow"),
    ],
)
def test_keras_json_selects_the_backend_where_the_variable_does_not(
    assay, monkeypatch, tmp_path, text, variable, engine
):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.setenv("KERAS_BACKEND", variable)
    if text:
        (tmp_path / "keras.json").write_text(text)
    cases = []
    monkeypatch.setattr(api, "run", lambda case, **_: cases.append(case) or ())

    assert assay("keras-benchmarks", "--model_name", "lstm")[0] == 0

    assert [case.partition("@")[2].partition(":")[0] for case in cases] == [f"keras-{engine}"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [('{"backend": "cntk"}', "any more"), ("{", "is no file of Keras settings")],
)
def test_a_retired_backend_or_damaged_keras_json_is_refused(
    assay, monkeypatch, tmp_path, text, complaint
):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    (tmp_path / "keras.json").write_text(text)

    status, _, error = assay("keras-benchmarks", "--model_name", "lstm")

    assert status == 2 and complaint in error


def test_a_model_that_fails_is_said_and_the_others_are_measured(assay, monkeypatch):
    def measure(case, **_):
        yield ended(case, "failed", "no good") if case.startswith("lstm@") else ended(case)

    monkeypatch.setattr(api, "run", measure)

    status, out, error = assay("keras-benchmarks", "--keras_backend", "jax")

    assert status == 1
    assert "lstm: failed: no good" in error
    assert out.count('"test_name"') == 8


def test_the_time_is_that_of_all_later_epochs(assay, monkeypatch):
    monkeypatch.setattr(api, "run", lambda case, **_: iter([ended(case)]))

    words = ("--model_name", "gru", "--keras_backend", "jax")
    _, out, _ = assay("keras-benchmarks", *words)

    metrics = json.loads(out)["metrics"]
    assert metrics["total_time"] == pytest.approx(10 * (0.1 + 0.2 + 0.3))
    assert (metrics["epochs"], metrics["batch_size"], metrics["sample_type"]) == (3, 32, "text")


def test_a_model_that_was_cut_short_has_no_row(assay, monkeypatch):
    def cut_short(case, **_):
        yield ended(case, "interrupted", "by Ctrl-C")
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "run", cut_short)

    status, out, _ = assay("keras-benchmarks", "--keras_backend", "jax")

    assert (status, out) == (130, "")


def test_the_engine_is_that_of_keras_where_none_is_given(assay, monkeypatch):
    asked = []
    monkeypatch.setattr(api, "run", lambda case, **_: asked.append(case) or iter([]))
    monkeypatch.setenv("KERAS_BACKEND", "torch")

    assay("keras-benchmarks", "--model_name", "mnist_mlp")

    assert [case.partition("@")[2].partition(":")[0] for case in asked] == ["keras-torch"]
