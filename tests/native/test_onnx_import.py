"""ONNX files become graphs that compute the same, or are refused by operator and node."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from assay.core.errors import UsageError
from assay.native import reference
from assay.native.onnx.file import onnx_bytes
from assay.native.onnx.model import model_of, read_model
from assay.native.onnx.read import Importing, import_onnx, onnx_reference, read_onnx
from assay.native.passes.pipeline import optimize
from tests.native.random_graphs import graphs, inputs_for

SIZES = np.array([0, 24], np.int64)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(graphs())
def test_what_is_written_is_read_again(graph):
    inputs = inputs_for(graph)

    found = Importing(model_of(onnx_bytes(graph), Path("again")), {}).graph()

    assert [value.shape for value in found.inputs] == [value.shape for value in graph.inputs]
    for here, there in zip(
        reference.outputs(optimize(found), *inputs, dtype=np.float64),
        reference.outputs(graph, *inputs, dtype=np.float64),
        strict=True,
    ):
        np.testing.assert_allclose(here, there, rtol=1e-5, atol=1e-5 * max(1, abs(there).max()))


def assert_as_onnx_runtime(path):
    graph = read_onnx(path)
    told = onnx_reference(path, import_onnx(path))
    assert told.judge == "ONNX Runtime"
    for made in (graph, optimize(graph)):
        (found,) = reference.outputs(made, *told.inputs, dtype=np.float64)
        np.testing.assert_allclose(found, told.outputs[0], rtol=1e-4, atol=1e-5)


def written(path, nodes, shape=("n", 2, 3, 4), weights=None, opset=17, kind=1):
    """A file of these nodes; the first input is x, and y is the output."""
    from onnx import TensorProto, helper, numpy_helper, save

    held = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(
        [helper.make_node(*node[:3], name=f"node{n}", **node[3]) for n, node in enumerate(nodes)],
        "net",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        held,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    save(model, path)
    return path


def one(kind, *more, **attributes):
    return [(kind, ["x", *more], ["y"], attributes)]


RANDOM = np.random.default_rng(1)
HELD = {
    "w": RANDOM.normal(size=(4, 2, 3, 3)).astype(np.float32),
    "up": RANDOM.normal(size=(2, 3, 3, 2)).astype(np.float32),
    "c": RANDOM.uniform(0.5, 1, 2).astype(np.float32),
    "last": RANDOM.uniform(0.5, 1, 4).astype(np.float32),
    "slope": RANDOM.uniform(0.1, 1, (2, 1, 1)).astype(np.float32),
    "m": RANDOM.normal(size=(4, 5)).astype(np.float32),
    "batched": RANDOM.normal(size=(1, 2, 4, 5)).astype(np.float32),
    "g": RANDOM.normal(size=(3, 24)).astype(np.float32),
    "half": np.array(0.5, np.float32),
    "two": np.array(2.0, np.float32),
    "sizes": SIZES,
    "one": np.array([1], np.int64),
    "axes": np.array([2, 3], np.int64),
    "starts": np.array([2, -1], np.int64),
    "ends": np.array([0, -9], np.int64),
    "steps": np.array([-1, -2], np.int64),
    "pads": np.array([0, 0, 1, 0, 0, 0, 2, 3], np.int64),
    "pads of all": np.array([0, 2, 1, 0, 0, 0, 2, 3], np.int64),
    "pads cut": np.array([0, 2, -1, 0, 0, 0, 2, 3], np.int64),
    "scales": np.array([1, 1, 2, 3], np.float32),
    "which": np.array(1, np.int64),
    "none": np.array([0], np.int64),
    "zero": np.array(0, np.int64),
    "down": np.arange(3)[None, None, :, None],
    "across": np.arange(4)[None, None, None, :],
    "lower": np.tri(3, 4, dtype=bool)[None, None],
    "least": np.array(-np.inf, np.float32),
    "rows": np.array([-1, 4], np.int64),
    "wider": np.array([-1, 2, 3, 5], np.int64),
    "pair": np.array([2], np.int64),
    "three": np.array([3], np.int64),
    "four": np.array([4], np.int64),
    "apart": np.array([-1, 2, 3], np.int64),
    "threefold": np.array([1, 2, 3, 4], np.int64),
    "narrower": np.array([1, 1, 1, 0.75], np.float32),
    "unevenly": np.array([[0, -1], [1, -1]]),
    "which of": np.array([[3], [1]], np.int64),
}
NETS = {
    "conv": one("Conv", "w", auto_pad="SAME_LOWER", strides=[2, 1]),
    "conv padded": one("Conv", "w", pads=[1, 0, 2, 1], dilations=[1, 2]),
    "transposed": one("ConvTranspose", "up", strides=[2, 3], pads=[1, 0, 0, 1]),
    "longer": one("ConvTranspose", "up", strides=[2, 2], output_padding=[1, 1]),
    "max": one("MaxPool", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
    "mean": one("AveragePool", kernel_shape=[2, 3], pads=[1, 1, 0, 1]),
    "mean with padding": one(
        "AveragePool", kernel_shape=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1
    ),
    "whole": one("GlobalAveragePool"),
    "norm": one("BatchNormalization", "c", "c", "c", "c", epsilon=0.01),
    "instance": one("InstanceNormalization", "c", "c"),
    "layer": one("LayerNormalization", "last", "last"),
    "local": one("LRN", size=3, alpha=0.3),
    "rows": one("MatMul", "m"),
    "matrices": one("MatMul", "batched"),
    "clip": one("Clip", "half", "two"),
    "clip below": one("Clip", "half"),
    "prelu": one("PRelu", "slope"),
    "hard": one("HardSigmoid", alpha=0.3),
    "power": one("Pow", "two"),
    "causal": [("Where", ["lower", "x", "least"], ["y"], {})],
    "causal by positions": [
        ("LessOrEqual", ["across", "down"], ["open"], {}),
        ("Not", ["open"], ["shut"], {}),
        ("Where", ["shut", "least", "x"], ["y"], {}),
    ],
    "known sums": [
        ("CumSum", ["last", "zero"], ["sums"], {}),
        ("Tile", ["sums", "one"], ["tiled"], {}),
        ("Trilu", ["batched"], ["upper"], {}),
        ("MatMul", ["x", "upper"], ["product"], {}),
        ("Gather", ["tiled", "none"], ["first"], {}),
        ("Add", ["product", "first"], ["y"], {}),
    ],
    "causal, turned": [("Where", ["lower", "least", "x"], ["y"], {})],
    "edges": one("Pad", "pads of all", mode="edge"),
    "reflected": one("Pad", "pads", mode="wrap"),
    "cut": one("Pad", "pads cut", "half"),
    "backwards": one("Slice", "starts", "ends", "axes", "steps"),
    "padded": one("Pad", "pads"),
    "padded every way": one("Pad", "pads of all"),
    "larger": one("Resize", "", "scales", mode="nearest"),
    "row": one("Gather", "which", axis=2),
    "length": one("ReduceL2", axes=[2, 3], keepdims=0),
    "extremes": one("Max", "half", "slope"),
    "softmax": one("Softmax", axis=1),
    "leaky": one("LeakyRelu"),
    "turned": one("Transpose", perm=[0, 2, 3, 1]),
    "flat": [("Flatten", ["x"], ["f"], {}), ("Gemm", ["f", "g"], ["y"], {"transB": 1})],
    "by its shape": [
        ("Shape", ["x"], ["s"], {}),
        ("Gather", ["s", "none"], ["b"], {}),
        ("Constant", [], ["rest"], {"value_ints": [-1]}),
        ("Concat", ["b", "rest"], ["to"], {"axis": 0}),
        ("Reshape", ["x", "to"], ["flat"], {}),
        ("Gemm", ["flat", "g"], ["y"], {"transB": 1, "alpha": 0.5}),
    ],
    "split": [
        ("Split", ["x"], ["a", "b"], {"axis": 1}),
        ("Mul", ["a", "b"], ["y"], {}),
    ],
    "tokens in one row": [
        ("Reshape", ["x", "rows"], ["r"], {}),
        ("MatMul", ["r", "m"], ["p"], {}),
        ("Softmax", ["p"], ["soft"], {"axis": 1}),
        ("Reshape", ["soft", "wider"], ["y"], {}),
    ],
    "windows as items": [
        ("Shape", ["x"], ["s"], {}),
        ("Gather", ["s", "none"], ["b"], {}),
        ("Mul", ["b", "pair"], ["windows"], {}),
        ("Concat", ["windows", "three", "four"], ["to"], {"axis": 0}),
        ("Reshape", ["x", "to"], ["r"], {}),
        ("Transpose", ["r"], ["t"], {"perm": [0, 2, 1]}),
        ("MatMul", ["r", "t"], ["products"], {}),
        ("ReduceMean", ["products"], ["mean"], {"axes": [1], "keepdims": 0}),
        ("Unsqueeze", ["mean", "one"], ["u"], {}),
        ("Reshape", ["u", "apart"], ["y"], {}),
    ],
    "repeated": [
        ("ReduceMean", ["x"], ["mean"], {"axes": [2]}),
        ("Expand", ["mean", "threefold"], ["y"], {}),
    ],
    "smoother": one("Resize", "", "scales", mode="linear"),
    "smaller": one(
        "Resize", "", "narrower", mode="cubic", coordinate_transformation_mode="align_corners"
    ),
    "smaller, nearest": one("Resize", "", "narrower", mode="nearest"),
    "rows by vector": one("MatMul", "last"),
    "log of softmax": one("LogSoftmax", axis=2),
    "apart": one("Gather", "unevenly", axis=3),
    "known, smoother": [
        ("Resize", ["w", "", "scales"], ["table"], {"mode": "linear"}),
        ("ReduceSum", ["table", "axes"], ["sums"], {"keepdims": 0}),
        ("Flatten", ["sums"], ["all"], {"axis": 2}),
        ("ReduceMax", ["all"], ["most"], {}),
        ("Mul", ["x", "most"], ["y"], {}),
    ],
    "scattered": [
        ("ScatterND", ["last", "which of", "c"], ["changed"], {}),
        ("Mul", ["x", "changed"], ["y"], {}),
    ],
    "absolute": one("ReduceL1", axes=[1]),
    "above": [
        ("Greater", ["x", "half"], ["over"], {}),
        ("LessOrEqual", ["x", "two"], ["under"], {}),
        ("And", ["over", "under"], ["both"], {}),
        ("Not", ["both"], ["outside"], {}),
        ("Cast", ["outside"], ["y"], {"to": 1}),
    ],
    "wider": [
        ("Unsqueeze", ["x", "one"], ["u"], {}),
        ("Squeeze", ["u", "one"], ["y"], {}),
    ],
}


@pytest.mark.real("onnx", "onnxruntime")
@pytest.mark.parametrize("name", NETS)
def test_an_operator_computes_what_onnx_runtime_computes(name, tmp_path):
    assert_as_onnx_runtime(written(tmp_path / "net.onnx", NETS[name], weights=HELD))


@pytest.mark.real("onnx", "onnxruntime")
@pytest.mark.parametrize(
    "name, shape, nodes",
    [
        ("DCR", ("n", 8, 2, 3), one("DepthToSpace", blocksize=2)),
        ("CRD", ("n", 8, 2, 3), one("DepthToSpace", blocksize=2, mode="CRD")),
        ("back", ("n", 2, 4, 6), one("SpaceToDepth", blocksize=2)),
        ("grouped", ("n", 4, 3, 2), one("GroupNormalization", "last", "last", num_groups=2)),
    ],
)
def test_operators_that_take_other_sizes_compute_what_onnx_runtime_computes(
    name, shape, nodes, tmp_path
):
    path = written(tmp_path / "net.onnx", nodes, shape, HELD, opset=21)

    graph = read_onnx(path)

    told = onnx_reference(path, import_onnx(path))
    (found,) = reference.outputs(optimize(graph), *told.inputs, dtype=np.float64)
    np.testing.assert_allclose(found, told.outputs[0], rtol=1e-4, atol=1e-5)


@pytest.mark.real("onnx", "onnxruntime")
def test_positions_are_counted_from_tokens_as_in_roberta(tmp_path):
    """One for each token that is no padding, and rows of tables by these."""
    held = {
        "pad": np.array(1),
        "last": np.array(1),
        "m": HELD["m"],
        "row": np.array([[0, 2, 1, 3]]),
    }
    nodes = [
        ("Equal", ["x", "pad"], ["empty"], {}),
        ("Not", ["empty"], ["there"], {}),
        ("Cast", ["there"], ["mask"], {"to": 7}),
        ("CumSum", ["mask", "last"], ["count"], {}),
        ("Mul", ["count", "mask"], ["place"], {}),
        ("GatherElements", ["row", "place"], ["kind"], {"axis": 1}),
        ("Gather", ["m", "kind"], ["y"], {}),
    ]
    path = written(tmp_path / "net.onnx", nodes, (1, 3), held, kind=7)

    graph = read_onnx(path)

    told = onnx_reference(path, import_onnx(path))
    np.testing.assert_array_equal(reference.outputs(graph, *told.inputs)[0], told.outputs[0])


@pytest.mark.real("onnx", "onnxruntime")
def test_an_older_softmax_is_over_all_axes_from_one_on(tmp_path):
    path = written(tmp_path / "net.onnx", one("Softmax", axis=1), opset=11)

    graph = read_onnx(path)

    told = onnx_reference(path, import_onnx(path))
    np.testing.assert_allclose(
        reference.outputs(graph, *told.inputs)[0], told.outputs[0], atol=1e-6
    )


@pytest.mark.real("onnx", "onnxruntime")
def test_a_batch_that_the_file_fixes_is_free_in_the_graph(tmp_path):
    fixed = {**HELD, "sizes": np.array([1, 24], np.int64)}
    nodes = [("Reshape", ["x", "sizes"], ["f"], {}), ("Gemm", ["f", "g"], ["y"], {"transB": 1})]
    path = written(tmp_path / "net.onnx", nodes, (1, 2, 3, 4), fixed)

    graph = read_onnx(path)

    told = onnx_reference(path, import_onnx(path))
    assert told.outputs[0].shape == (len(told.inputs[0]), 3)
    np.testing.assert_allclose(
        reference.outputs(graph, *told.inputs)[0], told.outputs[0], atol=1e-4
    )


@pytest.mark.real("onnx", "onnxruntime")
def test_numbers_for_each_item_of_a_fixed_batch_have_to_be_the_same(tmp_path):
    numbers = np.ones((2, 2, 3, 4), np.float32)
    nodes = [("Add", ["x", "numbers"], ["y"], {})]
    same = written(tmp_path / "same.onnx", nodes, (2, 2, 3, 4), {"numbers": numbers})
    other = np.stack([numbers[0], 2 * numbers[0]])
    unlike = written(tmp_path / "unlike.onnx", nodes, (2, 2, 3, 4), {"numbers": other})

    (found,) = reference.outputs(read_onnx(same), np.zeros((3, 2, 3, 4), np.float32))

    assert np.all(found == 1)
    with pytest.raises(UsageError, match=r"a Add that cannot .* numbers of \(2, 2, 3, 4\)"):
        Importing(read_model(unlike), {}).graph()
    assert not import_onnx(unlike).batched


@pytest.mark.real("onnx", "onnxruntime")
def test_whole_numbers_are_looked_up(tmp_path):
    nodes = [("Gather", ["m", "x"], ["y"], {})]
    path = written(tmp_path / "net.onnx", nodes, ("n", 6), HELD, kind=7)

    graph = read_onnx(path)

    told = onnx_reference(path, import_onnx(path))
    assert graph.inputs[0].dtype == "int32"
    np.testing.assert_array_equal(reference.outputs(graph, *told.inputs)[0], told.outputs[0])


@pytest.mark.real("onnx")
@pytest.mark.parametrize(
    "nodes, why",
    [
        (one("Det"), "'node0' that gives 'y' is a Det that cannot be compiled"),
        (one("LogSoftmax", axis=0), "axis 0 is the batch"),
        (one("Transpose", perm=[1, 0, 2, 3]), "a Transpose that cannot be compiled: the batch"),
        (one("Conv", "x"), "its input 'x' is computed, not known"),
        (
            one("Pad", "pads", mode="mirror"),
            "its attribute 'mode' is 'mirror'; supported: constant",
        ),
        (
            one("Resize", "", "scales", mode="linear", antialias=1),
            "attribute 'antialias' is 1; sup",
        ),
        (one("Cast", to=7), "it casts computed float32 to int64"),
        (one("CumSum", "one"), "only integers can be added up"),
        (
            [("Reshape", ["x", "rows"], ["r"], {}), ("Softmax", ["r"], ["y"], {"axis": 0})],
            "a Softmax that cannot be compiled: axis 0 is the batch",
        ),
        ([("Reshape", ["x", "rows"], ["y"], {})], "the batch of the output 'y' is joined"),
        (one("ReduceMean"), "the batch among them"),
        (one("Reshape", "one"), "not item by item"),
        (one("TreeEnsembleRegressor", domain="ai.onnx.ml"), "of the domain ai.onnx.ml"),
    ],
)
def test_what_cannot_be_is_refused_by_operator_and_node(nodes, why, tmp_path):
    path = written(tmp_path / "net.onnx", nodes, weights=HELD)

    with pytest.raises(UsageError) as caught:
        read_onnx(path)

    assert why in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("data", [b"", b"not an ONNX file at all", b"\x08\x09", b"\x3a\xff\x01ab"])
def test_a_file_that_is_none_is_told_in_a_sentence(data, tmp_path):
    (tmp_path / "net.onnx").write_bytes(data)

    with pytest.raises(UsageError, match=r"net\.onnx is no ONNX file that can be read"):
        read_onnx(tmp_path / "net.onnx")


def beside(folder, name="net.onnx", **changed):
    """A Gemm whose weights lie in net.data, after three other bytes; `changed` is told of them."""
    import onnx
    from onnx import external_data_helper

    path = written(folder / name, NETS["flat"], weights={"g": HELD["g"]})
    model = onnx.load(path)
    (held,) = model.graph.initializer
    place = {"location": "net.data", "offset": 3, "length": HELD["g"].nbytes, **changed}
    (folder / "net.data").write_bytes(b"???" + HELD["g"].tobytes())
    external_data_helper.set_external_data(held, **place)
    held.ClearField("raw_data")
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.real("onnx", "onnxruntime")
def test_weights_that_lie_beside_the_file_are_read(tmp_path):
    path = beside(tmp_path)

    graph = read_onnx(path)

    told = onnx_reference(path, import_onnx(path))
    (found,) = reference.outputs(graph, *told.inputs, dtype=np.float64)
    np.testing.assert_allclose(found, told.outputs[0], rtol=1e-4, atol=1e-5)


@pytest.mark.real("onnx")
def test_weights_lie_beside_a_link_or_where_it_leads(tmp_path):
    """As in huggingface_hub's cache: links with names, to files without."""
    for folder in ("blobs", "snapshot"):
        (tmp_path / folder).mkdir()
    beside(tmp_path / "blobs")
    for name in ("net.onnx", "net.data"):
        (tmp_path / "blobs" / name).rename(tmp_path / "blobs" / f"of-{name}")
        (tmp_path / "snapshot" / name).symlink_to(tmp_path / "blobs" / f"of-{name}")

    (weight,) = read_onnx(tmp_path / "snapshot" / "net.onnx").constants.values()

    np.testing.assert_array_equal(weight, HELD["g"])


@pytest.mark.real("onnx")
@pytest.mark.parametrize(
    "changed, why",
    [
        ({"location": "lost.data"}, "in the file lost.data, which is not beside it"),
        ({"offset": 4}, "in the bytes 4 to 292 of net.data, which has 291"),
        ({"offset": -1}, "in the bytes -1 to"),
        ({"length": 280}, "280 bytes are too few for 'g'"),
        ({"location": "../net.data"}, "../net.data, which is outside of the model's folder"),
        ({"location": "/etc/hostname"}, "/etc/hostname, which is outside of the model's folder"),
        ({"location": "link"}, "link, which is outside of the model's folder"),
    ],
)
def test_weights_that_are_not_there_are_told_in_a_sentence(changed, why, tmp_path):
    (tmp_path / "link").symlink_to("/etc/hostname")

    with pytest.raises(UsageError) as caught:
        read_onnx(beside(tmp_path, **changed))

    assert why in str(caught.value)
    assert caught.value.hint and len(str(caught.value).splitlines()) == 1


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(UsageError, match=r"no ONNX file nowhere\.onnx"):
        read_onnx("nowhere.onnx")
