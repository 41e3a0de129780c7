"""Models of hubs, offline: by configuration and with random weights."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import assay
from assay.core import registry
from assay.core.errors import EndingError, UsageError
from assay.workloads.user import hub
from tests.workloads.test_bare import resolved

SIZES = {"n_layer": 1, "n_head": 2, "n_embd": 8, "vocab_size": 50, "n_positions": 16}


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))


def session_of(text: str):
    case = resolved(text)
    job = registry.workload(case.workload).kinds["torch"](**case.params)
    return registry.backend("torch").open(lambda: job, case), job


def gpt2(folder):
    hub.load_torchvision()  # which transformers imports
    from transformers import GPT2Config

    GPT2Config(**SIZES, architectures=["GPT2LMHeadModel"]).save_pretrained(folder)
    return folder


@pytest.mark.real("torch", "transformers")
def test_a_configuration_is_trained_with_random_weights_and_that_is_said(tmp_path):
    opening, job = session_of(f"hf:{gpt2(tmp_path)}:batch_size=2,length=6@torch")
    with opening as session:
        before = session.outputs()
        session.step()

        assert before.shape == (2, 6, 50)
        assert not np.array_equal(before, session.outputs())
        assert job.facts["assumed"] == "its weights are random, as none are here"


@pytest.mark.real("torch", "transformers")
def test_weights_that_are_there_are_loaded(tmp_path):
    hub.load_torchvision()
    from transformers import GPT2Config, GPT2LMHeadModel

    made = GPT2LMHeadModel(GPT2Config(**SIZES)).eval()
    made.save_pretrained(tmp_path)

    opening, job = session_of(f"hf:{tmp_path}:batch_size=2,length=6@torch:mode=infer")
    with opening as session:
        wanted = made(**job.train_batch[0]).logits.detach().numpy()
        assert session.outputs() == pytest.approx(wanted, abs=1e-5)
    assert job.facts["assumed"] == ""


@pytest.mark.real("torch", "transformers")
def test_a_configuration_names_no_code_to_run(tmp_path):
    folder, marker = gpt2(tmp_path / "net"), tmp_path / "ran"
    (folder / "evil.py").write_text(f"open({str(marker)!r}, 'a')\n")
    config = json.loads((folder / "config.json").read_text())
    names = {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}
    config |= {"architectures": ["pipeline"], "auto_map": names}
    (folder / "config.json").write_text(json.dumps(config))

    _, job = session_of(f"hf:{folder}:batch_size=2,length=6@torch")

    assert type(job.model).__name__ == "GPT2Model" and not marker.exists()


@pytest.mark.real("torch", "transformers")
def test_a_classifier_of_pictures_gets_pictures(tmp_path):
    hub.load_torchvision()
    from transformers import ViTConfig

    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = ViTConfig(
        **sizes, intermediate_size=8, image_size=32, num_labels=3,
        architectures=["ViTForImageClassification"],
    )  # fmt: skip
    config.save_pretrained(tmp_path)

    opening, _ = session_of(f"hf:{tmp_path}:batch_size=2@torch")
    with opening as session:
        session.step()
        assert session.facts()["input_shape"] == "2x3x32x32"
        assert session.outputs().shape == (2, 3)


@pytest.mark.real("torch", "transformers")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hf:nobody/has-this@torch", "hf download nobody/has-this"),
        ("hf:~nouser/model@torch", "hf download ~nouser/model"),
        ("hf:{empty}@torch", "give a folder with the config.json"),
        ("hf:{gpt2}:length=99@torch", "the context of hf:.* is 16"),
    ],
)
def test_what_is_not_here_is_said_with_what_to_do(tmp_path, text, words):
    (tmp_path / "empty").mkdir()
    text = text.format(empty=tmp_path / "empty", gpt2=gpt2(tmp_path / "gpt2"))

    with pytest.raises(EndingError, match=words):
        session_of(text)


@pytest.mark.real("torch")
def test_a_hub_that_is_not_installed_is_named_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)  # as if it were not

    (result,) = assay.run("timm:vit_small_patch16_224@torch")

    assert (result.status, result.reason) == (
        "skipped", "timm is not installed here: pip install 'assay-lab[timm]'"
    )  # fmt: skip


@pytest.mark.real("torch", "torchvision", "timm")
@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("torchvision:squeezenet1_1:batch_size=2,image_size=32,classes=5", "2x3x32x32"),
        pytest.param(  # 86 million weights are drawn
            "torchvision:vit_b_16:batch_size=1,image_size=16,classes=5",
            "1x3x16x16",
            marks=pytest.mark.long,
        ),
        ("timm:vit_tiny_patch16_224:batch_size=2,image_size=32,classes=5", "2x3x32x32"),
        ("timm:mobilenetv3_small_050:batch_size=2,image_size=32,classes=5", "2x3x32x32"),
    ],
)
def test_a_classifier_of_a_hub_trains(text, shape):
    opening, job = session_of(f"{text}@torch")
    with opening as session:
        before = session.outputs()
        session.step()

        assert session.facts()["input_shape"] == shape
        assert before.shape == (session.items, 5) and np.isfinite(before).all()
        assert not np.array_equal(before, session.outputs())
    assert job.facts["assumed"] == "its weights are random"


@pytest.mark.real("torch", "torchvision", "timm")
@pytest.mark.parametrize(
    "hub, name", [("torchvision", "resnet19"), ("timm", "vit_smal_patch16_224")]
)
def test_a_name_that_a_hub_does_not_have_is_refused_with_the_nearest(hub, name):
    with pytest.raises(UsageError, match=f"no .*{hub} named '{name}'") as said:
        session_of(f"{hub}:{name}@torch")

    assert "Did you mean" in said.value.hint


@pytest.mark.real("torch")
def test_a_package_built_for_another_torch_is_said_to_be_so(tmp_path, monkeypatch):
    (tmp_path / "torchvision").mkdir()
    broken = 'raise OSError("libtorch.so: undefined symbol")'
    (tmp_path / "torchvision" / "__init__.py").write_text(broken)
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        monkeypatch.delitem(sys.modules, name)

    with pytest.raises(EndingError, match=r"cannot be loaded beside torch .*undefined") as said:
        session_of("torchvision:resnet18@torch")

    assert said.value.status == "skipped"
