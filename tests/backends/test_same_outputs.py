"""The same weights give the same outputs on every backend, before and after training steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.core import registry
from assay.workloads.net import layers, nets
from tests.backends.opened import SIX, SMALL, case, frameworks, opened

NEAR = 1e-4  # of the largest output


def by_hand(net: nets.Net, arrays: dict, values: np.ndarray) -> np.ndarray:
    """The forward pass in numpy, in float64: what all six have to agree with."""
    left = iter(arrays.values())
    for layer in net.layers:
        match layer:
            case layers.Dense():
                values = values @ next(left) + next(left)
            case layers.Conv(_, kernel, padding):
                values = convolved(values, next(left), kernel, padding) + next(left)
            case layers.Pool(size):
                rows, columns = values.shape[1] // size, values.shape[2] // size
                cut = values[:, : rows * size, : columns * size]
                cut = cut.reshape(len(cut), rows, size, columns, size, -1)
                values = cut.max(axis=(2, 4))
            case layers.Flatten():
                values = values.reshape(len(values), -1)
            case layers.Relu():
                values = np.maximum(values, 0)
    return values


def convolved(values: np.ndarray, kernel: np.ndarray, size: int, padding: str) -> np.ndarray:
    if padding == "same":
        values = np.pad(values, ((0, 0), (size // 2,) * 2, (size // 2,) * 2, (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(values, (size, size), axis=(1, 2))
    return np.einsum("nhwcij,ijco->nhwo", windows, kernel, optimize=True)


def expected(workload: str) -> np.ndarray:
    asked = case(f"{SMALL[workload]}@jax")
    sizes = dict(asked.params)
    batch_size, seed = sizes.pop("batch_size"), sizes.pop("seed")
    net = registry.workload(workload).net(**sizes)
    inputs, _ = nets.batch(net, batch_size, seed)
    return by_hand(net, nets.weights(net, seed), inputs.astype(np.float64))


def near(found: np.ndarray, wanted: np.ndarray) -> bool:
    return found.shape == wanted.shape and np.abs(found - wanted).max() < NEAR * abs(wanted).max()


@pytest.mark.parametrize("workload", ["cifar10-cnn", "vgg16"])  # every kind of layer is in these
@pytest.mark.parametrize(
    "backend", [pytest.param(name, marks=pytest.mark.real(*frameworks(name))) for name in SIX]
)
def test_outputs_are_those_of_numpy_and_training_steps_change_them(backend, workload, tmp_path):
    with opened(f"{SMALL[workload]}@{backend}", tmp_path) as session:
        before = session.outputs()
        seconds = session.step(2)
        after = session.outputs()

    assert near(before, expected(workload))
    assert len(seconds) == 2 and min(seconds) > 0
    assert np.isfinite(after).all() and not near(after, before)


@pytest.mark.parametrize("workload", ["cifar10-cnn"])
@pytest.mark.parametrize(
    "backend, other",
    [
        pytest.param("keras-jax", "channels_first", marks=pytest.mark.real("keras", "jax")),
        pytest.param("keras-torch", "channels_first", marks=pytest.mark.real("keras", "torch")),
        pytest.param(
            "keras-tensorflow", "channels_first", marks=pytest.mark.real("keras", "tensorflow")
        ),
        pytest.param("jax", "channels_first", marks=pytest.mark.real("jax")),
        pytest.param("tensorflow", "channels_first", marks=pytest.mark.real("tensorflow")),
        pytest.param("torch", "channels_last", marks=pytest.mark.real("torch")),
    ],
)
def test_the_other_layout_infers_the_same_and_an_inference_changes_nothing(
    backend, other, workload, tmp_path
):
    text = f"{SMALL[workload]}@{backend}:mode=infer,data_format={other}"
    with opened(text, tmp_path) as session:
        before = session.outputs()
        session.step(2)
        after = session.outputs()

    assert session.facts["data_format"] == other
    assert near(before, expected(workload))
    assert (after == before).all()


@pytest.mark.real("jax", "tensorflow", "torch")
@pytest.mark.parametrize(
    "optimizer, backends",
    [
        ("momentum", ("jax", "tensorflow", "torch")),
        # torch adds epsilon elsewhere in these two
        ("rmsprop", ("jax", "tensorflow")),
        ("adam", ("jax", "tensorflow")),
    ],
)
def test_an_optimizer_takes_the_same_steps_in_every_framework(optimizer, backends, tmp_path):
    """`hidden=0` leaves one dense layer and no dropout, whose chance differs by framework."""
    after = {}
    for backend in backends:
        text = f"mnist-mlp:batch_size=4,hidden=0@{backend}:optimizer={optimizer}"
        with opened(text, tmp_path / backend) as session:
            before = session.outputs()
            session.step(3)
            after[backend] = session.outputs()

    assert not near(after["jax"], before)
    assert all(near(found, after["jax"]) for found in after.values())


@pytest.mark.real("keras", "jax", "tensorflow", "torch")
def test_keras_takes_the_same_training_steps_as_the_bare_framework(tmp_path: Path):
    after = {}
    for backend in ("torch", "keras-torch", "keras-jax", "keras-tensorflow"):
        text = f"mnist-mlp:batch_size=4,hidden=0@{backend}:optimizer=momentum"
        with opened(text, tmp_path / backend) as session:
            session.step(3)
            after[backend] = session.outputs()

    assert all(near(found, after["torch"]) for found in after.values())
