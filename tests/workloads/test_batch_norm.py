"""Batch norm of vgg16: where it stands, what it counts, and that every framework does the same."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core import registry
from assay.core.errors import EndingError, UsageError
from assay.workloads.net import layers, nets
from tests.backends.opened import SIX, opened

NEAR = 1e-4  # of the largest output
SIZES = "batch_size=4,image_size=32,narrower=32,classes=10"
FUSED = ("torch", "tensorflow")


def net(**other) -> nets.Net:
    sizes = {**registry.workload("vgg16").params, **other}
    del sizes["batch_size"], sizes["seed"]
    return registry.workload("vgg16").net(**sizes)


def trained(case: str, folder) -> tuple[np.ndarray, np.ndarray]:
    """Outputs before and after two training steps, in a real worker."""
    with opened(case, folder) as session:
        before = session.outputs()
        session.step(2)
        return before, session.outputs()


def near(found: np.ndarray, wanted: np.ndarray) -> bool:
    return found.shape == wanted.shape and np.abs(found - wanted).max() < NEAR * abs(wanted).max()


@pytest.mark.parametrize("bn", ["mode0", "mode2"])
def test_it_stands_between_convolution_and_relu_and_adds_an_offset_for_each_channel(bn):
    found = net(bn=bn).layers

    places = [index for index, layer in enumerate(found) if isinstance(layer, layers.Norm)]
    assert len(places) == 13
    assert all(isinstance(found[place - 1], layers.Conv) for place in places)
    assert all(isinstance(found[place + 1], layers.Relu) for place in places)
    assert net(bn=bn).parameters() == 138_361_768


def test_fused_without_batch_norm_is_refused():
    with pytest.raises(UsageError, match="no batch norm to fuse"):
        net(fused=True)


@pytest.mark.real("keras", "jax", "tensorflow", "torch")
@pytest.mark.timeout(1200)  # six processes
@pytest.mark.family(bn="batch_norms")
@pytest.mark.parametrize("bn", ["mode0", "mode2"])
def test_every_framework_gives_the_same_before_and_after_training(bn, tmp_path):
    found = {name: trained(f"vgg16:{SIZES},bn={bn}@{name}", tmp_path / name) for name in SIX}

    before, after = found["torch"]
    assert not near(after, before)
    assert [name for name, (first, _) in found.items() if not near(first, before)] == []
    assert [name for name, (_, last) in found.items() if not near(last, after)] == []


@pytest.mark.real("tensorflow", "torch")
@pytest.mark.timeout(1200)
def test_the_fused_kernels_give_the_same(tmp_path):
    text = f"vgg16:{SIZES},bn=mode0"
    single, _ = trained(f"{text}@torch", tmp_path / "single")
    found = {name: trained(f"{text},fused=true@{name}", tmp_path / name) for name in FUSED}

    assert [name for name, (first, _) in found.items() if not near(first, single)] == []
    assert near(found["torch"][1], found["tensorflow"][1])


@pytest.mark.real("jax")
def test_a_framework_without_a_fused_kernel_says_so(tmp_path):
    with (
        pytest.raises(EndingError, match="JAX has no fused batch norm"),
        opened(f"vgg16:{SIZES},bn=mode0,fused=true@jax", tmp_path),
    ):
        pass
