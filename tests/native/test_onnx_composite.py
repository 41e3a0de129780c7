"""Operators that are several operations of a graph, on hard inputs, beside ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.native import reference
from assay.native.onnx.read import read_onnx
from tests.native.many import build_many, by_library
from tests.native.test_onnx_import import one, written

HARD = np.array(
    [
        [[0, -0.0, 1, -1, 0.5, -0.5], [3, 3, -3, 2, 2, -9]],
        [[1e30, -1e30, 1e-30, -1e-30, 88, -88], [np.inf, -np.inf, 7, 1, 0, 2]],
        [[5, 5, 5, 5, 5, 5], [-4, -5, -6, -7, 100, -100]],
    ],
    np.float32,
)
NAN = np.where(HARD == 7, np.float32(np.nan), HARD)
WEIGHTS = {
    "w": np.array([2, -1, 0, 1, np.inf, 3], np.float32),
    "low": np.array(-2, np.float32),
    "k": np.array(-1),
    "times": np.array([1, 2, 3]),
    "depth": np.array(4, np.float32),
    "off on": np.array([-3, 0.1], np.float32),
    "truth": np.array([[True], [False]]),
    "three": np.array([3], np.float32),
    "scale": np.array([2, -1, 0, 1, 0.5, 3], np.float32),
}
CASTS = [("Cast", ["t"], ["y"], {"to": 1})]
NETS = {
    "Celu": one("Celu", alpha=1.5),
    "ThresholdedRelu": one("ThresholdedRelu", alpha=0.5),
    "Shrink": one("Shrink", bias=0.25, lambd=0.5),
    "IsNaN": [("IsNaN", ["x"], ["t"], {}), *CASTS],
    "IsInf": [("IsInf", ["x"], ["t"], {}), *CASTS],
    "IsInf of one sign": [("IsInf", ["x"], ["t"], {"detect_positive": 0}), *CASTS],
    "Xor": [("IsInf", ["x"], ["a"], {}), ("Xor", ["a", "truth"], ["t"], {}), *CASTS],
    "Mod": one("Mod", "three", fmod=1),
    "Trilu": one("Trilu", "k", upper=0),
    "Tile": one("Tile", "times"),
    "LpNormalization": one("LpNormalization", p=1, axis=2),
    "ArgMax": [("ArgMax", ["x"], ["t"], {"axis": 2}), *CASTS],
    "ArgMin": [("ArgMin", ["x"], ["t"], {"axis": 1, "keepdims": 0}), *CASTS],
    "last ArgMax": [("ArgMax", ["x"], ["t"], {"axis": 2, "select_last_index": 1}), *CASTS],
    "Hardmax": one("Hardmax", axis=1),
    "OneHot": one("OneHot", "depth", "off on", axis=1),
    "Where": [("Less", ["x", "low"], ["c"], {}), ("Where", ["c", "x", "w"], ["y"], {})],
    "Where of computed": [
        ("Less", ["x", "low"], ["c"], {}),
        ("Abs", ["x"], ["a"], {}),
        ("Where", ["c", "x", "a"], ["y"], {}),
    ],
    "CastLike": [("Less", ["x", "low"], ["c"], {}), ("CastLike", ["c", "x"], ["y"], {})],
    "mask of Dropout": [("Dropout", ["x"], ["d", "t"], {}), *CASTS],
    "Reciprocal of known": [("Reciprocal", ["scale"], ["r"], {}), ("Add", ["x", "r"], ["y"], {})],
    "Size of known": [
        ("Size", ["scale"], ["s"], {}),
        ("Cast", ["s"], ["f"], {"to": 1}),
        ("Mul", ["x", "f"], ["y"], {}),
    ],
}
WITH_NAN = ("IsNaN", "IsInf", "Xor", "Trilu", "Tile", "Where", "CastLike", "mask of Dropout")


@pytest.mark.real("onnx", "onnxruntime", "compiler")
def test_operators_compute_what_onnx_runtime_computes(tmp_path, native_cache, plain_tools):
    import onnxruntime

    paths = {
        name: written(tmp_path / f"{number}.onnx", nodes, ("n", 2, 6), WEIGHTS)
        for number, (name, nodes) in enumerate(NETS.items())
    }
    graphs = {name: read_onnx(path) for name, path in paths.items()}
    built = dict(
        zip(
            paths,
            build_many(list(graphs.values()), plain_tools, native_cache, tmp_path),
            strict=True,
        )
    )

    for name, path in paths.items():
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        for array in (HARD, NAN) if name in WITH_NAN else (HARD,):
            (expected,) = session.run(None, {"x": array})
            with np.errstate(all="ignore"):
                (output,) = reference.outputs(graphs[name], array)
            (compiled,) = by_library(*built[name], [array])
            np.testing.assert_allclose(output, expected, 1e-5, 1e-6, err_msg=name)
            np.testing.assert_allclose(compiled, expected, 1e-5, 1e-6, err_msg=name)


@pytest.mark.real("onnx")
@pytest.mark.parametrize("kind", ["RMSNormalization", "Swish"])
def test_operators_newer_than_onnx_runtime_compute_what_onnx_computes(kind, tmp_path):
    from onnx import load
    from onnx.reference import ReferenceEvaluator

    more = ["scale"] if kind == "RMSNormalization" else []
    path = written(tmp_path / "net.onnx", one(kind, *more), ("n", 2, 6), WEIGHTS, opset=24)
    array = HARD[[0, 2]]

    (expected,) = ReferenceEvaluator(load(path)).run(None, {"x": array})

    (output,) = reference.outputs(read_onnx(path), array)
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.real("onnx")
def test_slopes_of_channels_in_old_files_are_not_those_of_columns(tmp_path):
    slopes = {"slope": np.array([0.5, 2], np.float32)}
    old, new = (
        written(tmp_path / f"{opset}.onnx", one("PRelu", "slope"), ("n", 2, 2, 2), slopes, opset)
        for opset in (6, 16)
    )
    image = -np.ones((1, 2, 2, 2), np.float32)

    by_channel, by_column = (reference.outputs(read_onnx(path), image)[0] for path in (old, new))

    assert by_channel[0, :, 0, 0].tolist() == [-0.5, -2]
    assert by_column[0, 0, 0].tolist() == [-0.5, -2]


@pytest.mark.real("onnx")
def test_a_batch_is_not_compared_with_sizes_that_it_may_have(tmp_path):
    nodes = [
        ("Shape", ["x"], ["s"], {"end": 1}),
        ("Min", ["s", "limit"], ["m"], {}),
        ("Cast", ["m"], ["f"], {"to": 1}),
        ("Mul", ["x", "f"], ["y"], {}),
    ]
    path = written(tmp_path / "net.onnx", nodes, ("n", 6), {"limit": np.array([512])})

    with pytest.raises(UsageError, match=r"a Min .* computed from the size of the batch"):
        read_onnx(path)


@pytest.mark.real("onnx")
def test_a_bound_that_is_no_scalar_is_refused(tmp_path):
    path = written(tmp_path / "net.onnx", one("Clip", "x"), ("n", 6))

    with pytest.raises(UsageError, match=r"a Clip .* its bound 'x' is of shape \(6,\), no scalar"):
        read_onnx(path)
