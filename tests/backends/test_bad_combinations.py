"""What cannot run says so in words, before a process starts where that can be known."""

from __future__ import annotations

import pytest

from assay.backends import options
from assay.commands.run import api
from assay.core import registry
from assay.core.errors import EndingError, UsageError
from tests.backends.opened import SIX, case


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(options, "gpus", lambda: 0)


@pytest.fixture
def one_gpu(monkeypatch):
    monkeypatch.setattr(options, "gpus", lambda: 1)


def refusal(text: str) -> str:
    asked = case(text)
    return registry.backend(asked.backend).refuses(asked)


@pytest.mark.parametrize("backend", SIX)
def test_a_gpu_that_is_not_there_is_refused(backend, no_gpu):
    assert "this machine has no NVIDIA GPU" in refusal(f"mnist-mlp@{backend}:device='gpu:0'")


@pytest.mark.parametrize("backend", SIX)
def test_a_second_gpu_is_refused_where_there_is_one(backend, one_gpu):
    assert refusal(f"mnist-mlp@{backend}:device='gpu:0'") == ""
    assert "has 1 NVIDIA GPU" in refusal(f"mnist-mlp@{backend}:device='gpu:1'")


@pytest.mark.parametrize("backend", SIX)
def test_tf32_is_refused_on_a_cpu(backend, one_gpu):
    assert "tf32" in refusal(f"mnist-mlp@{backend}:precision=tf32,device=cpu")
    assert refusal(f"mnist-mlp@{backend}:precision=tf32") == ""


@pytest.mark.parametrize("backend", SIX)
def test_zero_threads_is_a_mistake_and_too_many_are_refused(backend):
    with pytest.raises(UsageError, match=f"threads of {backend} is '0'"):
        case(f"mnist-mlp@{backend}:threads=0")
    assert "may use" in refusal(f"mnist-mlp@{backend}:threads=100000")


def test_float16_is_refused_inside_a_cuda_graph_in_training_only(one_gpu):
    text = "mnist-mlp@torch:cuda_graphs=on,precision="
    assert "loss scaling" in refusal(f"{text}float16")
    assert refusal(f"{text}float16,mode=infer") == ""
    assert refusal(f"{text}pure-bfloat16") == ""


def test_cuda_graphs_are_refused_on_a_cpu_and_beside_a_compiler_that_makes_them(one_gpu):
    assert "need an NVIDIA GPU" in refusal("mnist-mlp@torch:cuda_graphs=on,device=cpu")
    assert "itself" in refusal("mnist-mlp@torch:cuda_graphs=on,compiler=reduce-overhead")
    best = "precision=pure-bfloat16,data_format=channels_last,compiler=on,cuda_graphs=on"
    assert refusal(f"vgg16@torch:{best}") == ""


@pytest.mark.parametrize("backend", ["tensorflow", "keras-tensorflow"])
def test_channels_first_is_refused_where_the_cpu_kernels_lack_it(backend, no_gpu, monkeypatch):
    text = f"cifar10-cnn@{backend}:data_format=channels_first,compiler="
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", "0")
    assert "lack channels_first" in refusal(f"{text}off")
    assert refusal(f"{text}on") == ""
    monkeypatch.delenv("TF_ENABLE_ONEDNN_OPTS")
    assert refusal(f"{text}off") == ""


def test_a_framework_that_sees_no_gpu_does_not_measure_the_cpu_instead(one_gpu):
    asked = case("mnist-mlp@jax:device='gpu:0'")

    with pytest.raises(EndingError, match="JAX 9 sees no GPU") as caught:
        options.check_device(asked, "JAX 9", on_gpu=False)
    assert caught.value.status == "skipped"


def test_a_refused_case_is_a_skipped_result(no_gpu):
    (result,) = api.run("mnist-mlp@jax:device='gpu:3'", params={"batch_size": ["max"]})

    assert result.status == "skipped"
    assert "gpu:3" in result.reason
