"""Every workload takes steps on every engine of Keras, in torch and in JAX, with equal outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.workloads.opened_all import PICTURES, SMALL, taken_by_all

NEAR = 1e-4  # of the largest output
NEAR_COUNTS = {"jax": 0.01, "torch": 0.01, "tensorflow": 0.2}  # shares
STYLES = ("resnet50", "resnet50 subclassed", "resnet50 eager")
# One of each family for `make test`: recurrent, convolutional, attention, generation, embeddings.
ZOOS = {"few": ("gru", "convnext", "decoder", "generation", "dlrm"), "all": tuple(SMALL)}
FRAMEWORKS = [
    pytest.param(name, marks=pytest.mark.real("keras", name, "torch")) for name in ("jax", "torch")
]
ENGINES = [
    pytest.param(engine, marks=pytest.mark.real("keras", engine, "torch"))
    for engine in ("jax", "tensorflow", "torch")
]
pytestmark = pytest.mark.timeout(1200)  # a dozen compilations, on a machine that others use too

# Published for BERT, GPT-2, ViT and ConvNeXt; counted by hand for the rest.
PARAMETERS = {
    "lstm": 4 * (60 + 128 + 1) * 128 + (128 + 1) * 60,
    "gru": 3 * (60 + 128 + 2) * 128 + (128 + 1) * 60,
    "resnet50": 25_636_712,
    "resnet50 subclassed": 25_636_712,
    "xception": 22_910_480,
    "encoder small": 28_763_648 + (512 + 1) * 2,
    "encoder base": 109_482_240 + (768 + 1) * 2,
    "decoder base": 124_439_808,
    "vit small": 22_050_664,
    "vit base": 86_567_656,
    "convnext tiny": 28_589_128,
    "convnext small": 50_223_688,
    "convnext base": 88_591_464,
}


def over_zoos(test):
    return pytest.mark.family(zoo="zoo")(pytest.mark.parametrize("zoo", ZOOS)(test))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder that all processes of this run share: what lies there is computed once."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture
def taken(folder, zoo):
    """Engine → workload → what an inference and two training steps gave."""
    return lambda engine: taken_by_all(f"keras-{engine}", folder / f"{zoo}-{engine}", ZOOS[zoo])


@pytest.fixture
def pure(folder, zoo):
    """The same of the frameworks by themselves."""
    return lambda name: taken_by_all(name, folder / f"{zoo}-pure-{name}", without_styles(zoo))


def without_styles(zoo: str) -> list[str]:
    return [name for name in ZOOS[zoo] if name not in STYLES[1:]]


def pictures(zoo: str) -> list[str]:
    return [name for name in PICTURES if name in ZOOS[zoo]]


def trained(zoo: str) -> list[str]:
    return [name for name in ZOOS[zoo] if name != "generation"]


def near(found: np.ndarray, wanted: np.ndarray) -> bool:
    return found.shape == wanted.shape and np.abs(found - wanted).max() < NEAR * abs(wanted).max()


@over_zoos
@pytest.mark.parametrize("engine", ENGINES)
def test_outputs_are_the_same_on_every_engine(engine, zoo, taken):
    found, other = taken(engine), taken("torch")

    assert [
        name for name in ZOOS[zoo] if not near(found[name]["before"], other[name]["before"])
    ] == []


@over_zoos
@pytest.mark.parametrize("engine", ENGINES)
def test_two_training_steps_change_the_outputs_and_leave_them_finite(engine, zoo, taken):
    found = {name: taken(engine)[name] for name in trained(zoo)}

    assert [name for name, one in found.items() if not np.isfinite(one["after"]).all()] == []
    assert [name for name, one in found.items() if near(one["after"], one["before"])] == []
    assert {one["facts"]["mode"] for one in found.values()} == {"train"}


@over_zoos
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_outputs_of_a_framework_alone_are_those_of_keras(framework, zoo, pure, taken):
    found, other = pure(framework), taken("torch")

    assert [
        name
        for name in without_styles(zoo)
        if not near(found[name]["before"], other[name]["before"])
    ] == []
    names = without_styles(zoo)
    parameters = {name: found[name]["facts"]["parameters"] for name in names}
    assert parameters == {name: other[name]["facts"]["parameters"] for name in names}


@over_zoos
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_training_steps_of_a_framework_alone_change_the_outputs(framework, zoo, pure):
    found = {name: pure(framework)[name] for name in without_styles(zoo) if name != "generation"}

    assert [name for name, one in found.items() if not np.isfinite(one["after"]).all()] == []
    assert [name for name, one in found.items() if near(one["after"], one["before"])] == []


@over_zoos
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_work_of_a_net_is_that_of_the_frameworks_counter_and_of_keras(
    framework, zoo, pure, taken
):
    found, other = pure(framework), taken("torch")
    names = without_styles(zoo)
    steps = [name for name in names if name in trained(zoo)]

    assert {name: found[name]["expected"] for name in names} == {
        name: other[name]["expected"] for name in names
    }
    assert {name: found[name]["macs"] for name in steps} == {
        name: found[name]["expected"] for name in steps
    }
    # of dlrm, Keras counts the layers and not the product that is written as an operation
    layers = [name for name in steps if name != "dlrm"]
    assert {name: other[name]["multiply_adds"] for name in layers} == {
        name: found[name]["expected"] for name in layers
    }


@over_zoos
@pytest.mark.parametrize(
    ("framework", "layout"),
    [
        pytest.param("jax", "channels_first", marks=pytest.mark.real("jax")),
        pytest.param("torch", "channels_last", marks=pytest.mark.real("torch")),
    ],
)
def test_the_other_layout_of_a_framework_gives_the_same(framework, layout, zoo, pure, tmp_path):
    text = f"data_format={layout},"
    other = taken_by_all(framework, tmp_path, pictures(zoo), text, modes=("infer",))

    wrong = [n for n in pictures(zoo) if not near(other[n]["before"], pure(framework)[n]["before"])]
    assert wrong == []
    assert {one["facts"]["data_format"] for one in other.values()} == {layout}


@pytest.mark.family(engine="engines")
@pytest.mark.parametrize("engine", ENGINES)
def test_resnet50_trains_the_same_in_every_style(engine, tmp_path):
    taken = taken_by_all(f"keras-{engine}", tmp_path, STYLES, modes=("train",))
    styles = [taken[name] for name in STYLES]

    assert all(near(style["after"], styles[0]["after"]) for style in styles)
    assert [style["facts"]["eager"] for style in styles] == [False, False, True]


@pytest.mark.parametrize("engine", ENGINES)
@over_zoos
def test_a_decoder_counts_tokens_and_generation_only_infers(engine, zoo, taken):
    training, generation = taken(engine)["decoder"], taken(engine)["generation"]

    assert training["items"] == 2 * 16
    assert generation["items"] == 2 * 6
    assert generation["facts"]["mode"] == "infer"
    assert (generation["after"] == generation["before"]).all()


@over_zoos
@pytest.mark.parametrize("engine", ENGINES)
def test_the_work_counted_layer_by_layer_is_that_of_the_frameworks_counter(engine, zoo, taken):
    found = {name: taken(engine)[name] for name in trained(zoo)}
    counted = {name: one for name, one in found.items() if one["macs"]}

    assert [name for name, one in found.items() if one["multiply_adds"] <= 0] == []
    assert {name: one["multiply_adds"] for name, one in found.items()} == {
        name: one["multiply_adds"] for name, one in taken("torch").items() if name in trained(zoo)
    }
    # TensorFlow's counts element-wise work too, which small models have much of, and no loops
    near = NEAR_COUNTS[engine]
    assert found.keys() - counted.keys() <= ({"lstm", "gru"} if engine == "tensorflow" else set())
    assert [
        name for name, one in counted.items() if abs(one["macs"] / one["multiply_adds"] - 1) > near
    ] == []


@over_zoos
@pytest.mark.real("keras", "torch")
def test_the_other_layout_gives_the_same_outputs(zoo, taken, tmp_path):
    other = taken_by_all("keras-torch", tmp_path, pictures(zoo), "data_format=channels_first,")

    wrong = [n for n in pictures(zoo) if not near(other[n]["before"], taken("torch")[n]["before"])]
    assert wrong == []
    assert {one["facts"]["data_format"] for one in other.values()} == {"channels_first"}


@pytest.mark.long
@pytest.mark.real("keras", "torch")
def test_full_sized_models_have_the_parameters_of_the_published_ones():
    found = json.loads(
        subprocess.run(
            [sys.executable, Path(__file__).with_name("counted_all.py")],
            env={
                **os.environ,
                "KERAS_BACKEND": "torch",
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
            check=True,
            capture_output=True,
        ).stdout
    )

    assert {name: found["ours"][name] for name in PARAMETERS} == PARAMETERS
    assert {name: found["ours"][name] for name in found["applications"]} == found["applications"]
    assert found["ours"]["generation small"] == found["ours"]["decoder small"]
