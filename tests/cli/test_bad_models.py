"""Models that cannot be run, as they are typed: one sentence, what to do, no status 0."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.workloads.test_model_file import onnx_file

TORCH = Path(__file__).parents[1] / "data" / "bare_torch.py"
ONCE = ("--samples", "1", "--steps-per-sample", "1")


@pytest.fixture
def files(tmp_path, keras):
    """A path for each sort of damage."""
    whole = onnx_file(tmp_path / "whole.onnx").read_bytes()
    (tmp_path / "cut.onnx").write_bytes(whole[: len(whole) // 2])
    keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)]).save(tmp_path / "whole.keras")
    saved = (tmp_path / "whole.keras").read_bytes()
    (tmp_path / "cut.keras").write_bytes(saved[: len(saved) // 2])
    (tmp_path / "cut.pt2").write_bytes(saved[:100])
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.real("onnx", "keras", "jax")
@pytest.mark.parametrize(
    ("case", "sentence", "hint"),
    [
        ("{files}/cut.onnx@onnxruntime", "not all of one (it is cut short)", "copy complete?"),
        ("{files}/cut.keras@keras-jax", "no model saved by Keras, or not all of one", "Save it"),
        ("{files}/cut.pt2@torch", "no program of torch.export, or not all of one", "Save it"),
        ("{files}/none.onnx@onnxruntime", "There is no file", "path of a model file"),
        (f"{TORCH}:Nothing@torch", "Nothing", ""),
        ("{files}/whole.onnx@torch", "torch cannot open", ""),
    ],
)
def test_what_the_file_tells_is_refused_before_a_process_starts(assay, files, case, sentence, hint):
    status, out, error = assay("run", case.format(files=files))

    assert (status, out) == (2, "")
    assert sentence in error and hint in error and "Traceback" not in error


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("transformer-decoder:task=generate,length=64,prompt=60,generated=20@torch",),
            "the context of this model holds 64; generate fewer, or set length=80",
        ),
        (
            ("transformer-decoder@torch", "--task", "generate", "--set", "prompt=1000"),
            "the context of this model holds",
        ),
    ],
)
@pytest.mark.real("torch")
def test_a_generation_longer_than_the_context_is_refused(assay, words, sentence):
    status, out, _ = assay("run", *words)

    assert status != 0 and sentence in " ".join(out.split())


@pytest.mark.real("torch", "torchvision", "onnx", "onnxruntime")
def test_what_only_a_worker_finds_out_is_said_of_each_case(assay, tmp_path):
    """In one run: a module without an example, one that does not fit, a hub's name, an opset."""
    newer = onnx_file(tmp_path / "newer.onnx", opset=99)
    cases = [
        f"{TORCH}:Without@torch", f"{TORCH}:Unfit@torch", f"{TORCH}:Worded@torch",
        "torchvision:resnet19@torch", f"{newer}:seq_length=2@onnxruntime",
    ]  # fmt: skip
    status, out, _ = assay("run", *cases, *ONCE, "--format", "json")

    reasons = [one["reason"] for one in json.loads(out)["results"]]
    wanted = [
        "was given without an example",
        "does not run on its example",
        "holds a str",
        "no classifier in torchvision named 'resnet19'",
        "Opset 99",
    ]
    assert status == 1
    assert all(part in reason for part, reason in zip(wanted, reasons, strict=True)), reasons
