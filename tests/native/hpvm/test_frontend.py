"""What HPVM's frontend writes: sources, weights, data, the tuner's files."""

from __future__ import annotations

import inspect
import json
import re

import numpy as np
import pytest

from assay.core.errors import AssayError, UsageError
from assay.native import translate_to_approxhpvm
from assay.native.hpvm.configs import read_configs
from assay.native.hpvm.frontend import write_sources
from assay.native.hpvm.lowering import dataflow
from tests.native.hpvm.making import residual_net


@pytest.fixture(scope="module")
def flow():
    return dataflow(residual_net())


@pytest.fixture
def sources(flow, tmp_path):
    counts = {"test": 10, "tune": 8}
    return write_sources(flow, tmp_path / "src", tmp_path / 'the "data"', counts, 4)


def test_leaves_root_structs_and_main_are_as_in_hpvm(sources):
    text = (sources / "approxhpvm_src.cc").read_text()

    numbers = re.findall(r"void var_(\d+)_node\(.*?__hpvm__node_id\((\d+)\);", text, re.S)
    assert numbers == [(str(n), str(n + 1)) for n in range(13)]
    assert len(re.findall(r"__hpvm__createNodeND\(0, var_\d+_node\)", text)) == 13
    assert len(re.findall(r"__hpvm__edge\(", text)) == 2 * 13  # a pointer and a size for each edge
    assert (
        "__hpvm__edge(var_0, var_1, 1, 0, 0, 0);\n  __hpvm__edge(var_0, var_1, 1, 1, 1, 0);" in text
    )
    assert "__hpvm__bindIn(var_0, 0, 0, 0);\n  __hpvm__bindIn(var_0, 1, 1, 0);" in text
    assert "__hpvm__bindOut(var_12, 0, 0, 0);\n  __hpvm__bindOut(var_12, 1, 1, 0);" in text
    assert "void *r = __hpvm__tensor_group_convolution(t1, t2, 1, 1, 1, 1, 1, 4);" in text
    assert (
        "typedef struct __attribute__((__packed__)) {\n  void *input;\n  size_t input_bytes;"
        in text
    )
    assert "_w_path.c_str(), 0, 8, 2, 3, 3);" in text
    assert "_w_path.c_str(), 0, 1, 1, 32, 10);" in text
    assert text.index("void root(") < text.index("RootIn;") < text.index("int main(")
    assert '/the \\"data\\"/"' in text


def test_each_program_says_how_it_is_started(sources):
    program, tuner = (
        (sources / name).read_text() for name in ("approxhpvm_src.cc", "approxhpvm_tuner_src.cc")
    )

    assert '"Usage: %s [-t test|tune] [-c FILE[:NAME]]\\n"\n' in program
    assert "hpvm_fifo_r" not in program
    assert '"Usage: %s [-c FILE[:NAME]]\\n"\n' in tuner
    assert '"It waits for test, tune or stop in the pipe hpvm_fifo_r beside' in tuner


def test_the_tuners_files_tell_costs_knobs_and_the_baseline(sources, flow):
    facts = json.loads((sources / "tuner.json").read_text())

    assert len(facts["op_cost"]) == 13
    assert facts["op_cost"]["convolution_0"] == 8 * 4 * 9 * 64
    assert facts["op_cost"]["linear_10"] == 320
    assert len(facts["op_knobs"]["convolution_0"]) == len(facts["knobs"]) == 56
    assert facts["op_knobs"]["tanh_2"] == ["11", "12"]
    assert facts["op_knobs"]["depthwise_convolution_3"] == ["11", "12"]
    assert facts["op_cost"]["depthwise_convolution_3"] == 0
    assert facts["knobs"]["151"] == {"speedup": 3.0, "devices": ["gpu"]}
    configs = read_configs(sources / "tuner_confs.txt")
    assert configs.configurations[0].exact and len(configs.configurations[0].lines) == 10
    assert not (sources / "tuner_confs.txt").read_text().endswith("\n")


def test_a_folder_that_is_there_gets_a_number(flow, tmp_path):
    made = [
        write_sources(flow, tmp_path / "src", tmp_path, {"test": 1, "tune": 1}, 1).name
        for _ in range(3)
    ]

    assert made == ["src", "src_1", "src_2"]


def test_a_folder_that_cannot_be_made_is_named(flow, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AssayError, match="cannot be created"):
        write_sources(flow, tmp_path / "file" / "src", tmp_path, {"test": 1, "tune": 1}, 1)


def test_the_signature_is_hpvms():
    names = list(inspect.signature(translate_to_approxhpvm).parameters)

    assert names == [
        *("model", "weights_dir", "src_dir", "test_data", "test_labels", "tuner_data"),
        *("tuner_labels", "batch_size", "num_classes", "enable_weights_reload"),
    ]


@pytest.fixture
def model(keras):
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((8, 8, 2)),
            layers.Conv2D(3, 3, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dense(4, activation="softmax"),
        ]
    )


@pytest.mark.real("keras", "jax")
def test_a_keras_model_is_translated_with_its_data(model, tmp_path):
    images = np.random.default_rng(0).normal(size=(6, 8, 8, 2)).astype(np.float32)
    onehot = np.eye(4)[[0, 1, 2, 3, 0, 1]]

    src = translate_to_approxhpvm(
        model, tmp_path / "d", tmp_path / "s", images, onehot, images[:2], [[3], [2]], 500, 4
    )

    assert src == str(tmp_path / "s")
    held = np.fromfile(tmp_path / "d" / "test_input.bin", np.float32).reshape(6, 2, 8, 8)
    np.testing.assert_array_equal(held, images.transpose(0, 3, 1, 2))
    assert np.fromfile(tmp_path / "d" / "test_labels.bin", np.uint32).tolist() == [0, 1, 2, 3, 0, 1]
    assert np.fromfile(tmp_path / "d" / "tune_labels.bin", np.uint32).tolist() == [3, 2]
    kernel = np.asarray(model.layers[0].kernel).transpose(3, 2, 0, 1)
    found = np.fromfile(tmp_path / "d" / "conv2d_1_w.bin", np.float32).reshape(kernel.shape)
    np.testing.assert_array_equal(found, kernel)
    rows = np.asarray(model.layers[2].kernel).reshape(8, 8, 3, 4).transpose(2, 0, 1, 3)
    found = np.fromfile(tmp_path / "d" / "dense_1_w.bin", np.float32).reshape(rows.shape)
    np.testing.assert_array_equal(found, rows)  # channels first, as HPVM flattens


@pytest.mark.real("keras", "jax")
def test_data_that_do_not_fit_are_refused_and_nothing_is_dumped_on_reload(model, tmp_path):
    images = np.zeros((2, 8, 8, 2), np.float32)
    with pytest.raises(UsageError, match="test data are of"):
        translate_to_approxhpvm(
            model, tmp_path / "d", tmp_path / "s", images[:, :4], [0, 1], images, [0, 1], 2
        )
    with pytest.raises(UsageError, match="2 tune images, but 1 labels"):
        translate_to_approxhpvm(
            model, tmp_path / "d", tmp_path / "s", images, [0, 1], images, [0], 2
        )
    assert list(tmp_path.iterdir()) == []

    given = (images, [0, 1], images, [0, 1], 2, 4, True)
    translate_to_approxhpvm(model, tmp_path / "d", tmp_path / "s", *given)

    assert [path.name for path in tmp_path.iterdir()] == ["s"]


@pytest.mark.real("keras", "jax")
def test_an_unknown_layer_is_refused_by_name(keras, tmp_path):
    layers = keras.layers
    model = keras.Sequential([keras.Input((8, 8, 2)), layers.UpSampling2D(name="larger")])
    images = np.zeros((2, 8, 8, 2), np.float32)

    with pytest.raises(UsageError, match="'larger' is a upsample"):
        translate_to_approxhpvm(
            model, tmp_path / "d", tmp_path / "s", images, [0, 1], images, [0, 1], 2
        )
    assert list(tmp_path.iterdir()) == []
