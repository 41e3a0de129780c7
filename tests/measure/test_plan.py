"""Texts become cases; what does not fit is refused before anything runs."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assay.core import registry
from assay.core.case_text import parse_case
from assay.core.errors import UsageError
from assay.measure import plan


@pytest.mark.parametrize(
    ("text", "workload", "params", "backend", "options"),
    [
        ("mnist-mlp", "mnist-mlp", {}, "?", {}),
        ("mnist-mlp@keras-jax", "mnist-mlp", {}, "keras-jax", {}),
        ("w:a=1,b=x@b:c=2", "w", {"a": "1", "b": "x"}, "b", {"c": "2"}),
        ("./my.py:MyNet", "./my.py:MyNet", {}, "?", {}),
        (
            "./my.py:MyNet:batch_size=8@torch:device='gpu:0'",
            "./my.py:MyNet",
            {"batch_size": "8"},
            "torch",
            {"device": "gpu:0"},
        ),
        ("w:note='a,b:c@d'@b", "w", {"note": "a,b:c@d"}, "b", {}),
        ("user@host/net@b", "user@host/net", {}, "b", {}),
        ("w:a=@b", "w", {"a": ""}, "b", {}),
        ("w:a='it''s'@b", "w", {"a": "it's"}, "b", {}),
    ],
)
def test_a_case_reads(text, workload, params, backend, options):
    case = parse_case(text)

    assert (case.workload, case.params) == (workload, params)
    assert (case.backend, case.options) == (backend, options)


@pytest.mark.parametrize("text", ["", "@keras-jax", "mnist-mlp@", "w:a=1,,b=2@b", "w:a='1@b"])
def test_what_is_no_case_is_refused(text):
    with pytest.raises(UsageError):
        plan.expand_cases([text], ["keras-jax"])


def test_a_sweep_is_every_combination_once():
    cases = plan.expand_cases(
        ["mnist-mlp"],
        ["keras-jax"],
        params={"units": [512, 1024]},
        options={"precision": ["float32", "bfloat16"]},
    )

    assert [case.key for case in cases] == [
        "mnist-mlp:units=512@keras-jax",
        "mnist-mlp:units=512@keras-jax:precision=bfloat16",
        "mnist-mlp@keras-jax",
        "mnist-mlp@keras-jax:precision=bfloat16",
    ]


def test_what_a_case_says_itself_is_stronger_than_a_flag():
    (case,) = plan.expand_cases(["mnist-mlp:units=8@keras-jax"], params={"units": [512, 1024]})

    assert case.params["units"] == 8


def test_a_case_is_completed_with_every_default():
    (case,) = plan.expand_cases(["mnist-mlp@keras-jax"])

    assert case.params["batch_size"] == 32
    assert case.options["precision"] == "float32"


def test_a_default_said_aloud_does_not_change_the_key():
    (case,) = plan.expand_cases(["mnist-mlp:batch_size=32@keras-jax:mode=train"])

    assert case.key == "mnist-mlp@keras-jax"


@settings(deadline=None)  # the first call loads every workload
@given(st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1))
def test_a_key_names_its_case_again(text):
    assume(len(text) < 19 or not text.lstrip("+-").isdecimal())  # too large a number is refused
    (case,) = plan.expand_cases([parse_case("mnist-mlp@keras-jax")], options={"python": [text]})

    assert plan.resolve(parse_case(case.key)) == case


@pytest.mark.parametrize(
    ("text", "complaint", "hint"),
    [
        ("mnist-mlpp@keras-jax", "no workload named 'mnist-mlpp'", "'mnist-mlp'"),
        ("mnist-mlp@keras-jaxx", "no backend named 'keras-jaxx'", "'keras-jax'"),
        ("mnist-mlp:unit=3@keras-jax", "no parameter of mnist-mlp named 'unit'", "'units'"),
        ("mnist-mlp:units=many@keras-jax", "'many', but has to be an integer", "1024"),
        ("mnist-mlp@keras-jax:precison=x", "no option of keras-jax named 'precison'", "precision"),
        ("mnist-mlp@keras-jax:precision=float8", "has to be one of float32", "default float32"),
        ("mnist-mlp@keras-jax:threads=0", "threads of keras-jax is '0'", "1 or more"),
        ("mnist-mlp@keras-jax:device=gpu", "device of keras-jax is 'gpu'", "'gpu:0'"),
        ("mnist-mlp@keras-jax:device=cuda:1", "device of keras-jax is 'cuda:1'", "'gpu:1'"),
        ("mnist-mlp@keras-jax:device=tpu:4", "device of keras-jax is", "first GPU"),
        ("mnist-mlp@keras-jax:precision=fp16", "precision of keras-jax is", "'float16'?"),
        ("mnist-mlp@keras-jax:precision=half", "precision of keras-jax is", "'float16'?"),
        ("mnist-mlp@keras-jax:precision=FP32", "precision of keras-jax is", "'float32'?"),
        ("mnist-mlp@keras-jax:precision=bf16", "precision of keras-jax is", "'bfloat16'?"),
        ("mnist-mlp@keras-jax:precision=flaot32", "precision of keras-jax is", "'float32'?"),
        ("mnist-mlp@keras-jax:mode=inference", "mode of keras-jax is", "'infer'?"),
        ("mnist-mlp@keras-jax:data_format=NCHW", "data_format of keras-jax", "'channels_first'?"),
        ("mnist_mlp@keras-jax", "no workload named 'mnist_mlp'", "'mnist-mlp'?"),
        ("MNIST-MLP@keras-jax", "no workload named 'MNIST-MLP'", "'mnist-mlp'?"),
        ("mnist-mlp@python", "python cannot open mnist-mlp", "keras-jax"),
        ("mnist-mlp:batch_size=0@keras-jax", "has to be 1 or more", "batch_size=1"),
        ("mnist-mlp:units=-3@keras-jax", "units of mnist-mlp is -3", "units=1"),
        ("mnist-mlp:units=0@keras-jax", "units of mnist-mlp is 0", "units=1"),
        ("lstm@tensorflow", "tensorflow cannot open lstm", "It runs on: jax, keras-jax, keras-"),
        ("mnist-mlp,cifar10-cnn@keras-jax", "no workload named", "by a space"),
        ("./my.py@keras-jax", "names a file", "./my.py:MyNet"),
    ],
)
def test_what_cannot_be_is_said_before_it_runs(text, complaint, hint):
    with pytest.raises(UsageError, match=complaint) as caught:
        plan.expand_cases([text])
    assert hint in caught.value.hint


def test_a_backend_named_twice_is_refused():
    with pytest.raises(UsageError, match="named twice"):
        plan.expand_cases(["mnist-mlp@keras-jax"], ["torch"])


@pytest.fixture
def usable(monkeypatch):
    """Only these backends are installed."""

    def install(*names):
        monkeypatch.setattr(plan, "backends_for", lambda workload: names)
        for name in names:
            monkeypatch.setattr(type(registry.backend(name)), "missing", lambda backend: "")

    return install


@pytest.mark.parametrize(
    ("installed", "chosen", "left_out"),
    [
        (("jax", "native"), ["jax"], True),
        (("native", "onnxruntime", "openvino"), ["onnxruntime", "openvino"], True),
        (("native",), ["native"], False),
        (("jax", "torch"), ["jax", "torch"], False),
    ],
)
def test_native_takes_part_if_it_is_named_or_alone(usable, installed, chosen, left_out):
    usable(*installed)
    cases = plan.expand_cases(["mnist-mlp"], options={"mode": "infer"})
    note = plan.describe_left_out(["mnist-mlp"], (), "infer")

    assert [case.backend for case in cases] == chosen
    assert note.endswith(f"to include it: -b {','.join(installed)}") == left_out
    assert note.startswith("native is left out (it compiles each model") == left_out


def test_a_named_native_takes_part(usable):
    usable("jax", "native")
    cases = plan.expand_cases(["mnist-mlp"], ["native", "jax"], options={"mode": "infer"})

    assert [case.backend for case in cases] == ["native", "jax"]
    assert plan.describe_left_out(["mnist-mlp"], ["native", "jax"], "infer") == ""
    assert plan.describe_left_out(["mnist-mlp@native"], (), "infer") == ""
