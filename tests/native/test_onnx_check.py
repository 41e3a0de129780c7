"""The check of a compiled ONNX file finds what is wrong for unusual inputs, wherever it is run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assay.core.errors import AssayError
from assay.native import expected, ops, reference
from assay.native.agreement import model_agreement
from assay.native.expected import FINITE, ITEMS, NONFINITE, ReferenceOutputs, sample_items
from assay.native.onnx import operators
from assay.native.onnx.file_check import check_file
from assay.native.onnx.read import import_onnx, onnx_reference
from tests.native.making import Making
from tests.native.test_onnx_import import one, written

# As LogSoftmax was computed: exact for N(0, 1), -inf for numbers far apart.
PLANT = """
from assay.native import ops
from assay.native.onnx import operators


def log_of_softmax(model, node):
    value = model.add(node, ops.SoftmaxOp(0), model.values[node.inputs[0]])
    return model.add(node, ops.ActivationOp("log"), value)


operators.HANDLERS["LogSoftmax"] = log_of_softmax
"""


@pytest.fixture
def net(tmp_path):
    return str(written(tmp_path / "net.onnx", one("LogSoftmax", axis=1), ("n", 8)))


@pytest.fixture
def plant(tmp_path, monkeypatch):
    """A wrong operator, in this process and in those that it starts."""
    folder = tmp_path / "plant"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(PLANT)
    monkeypatch.setenv("PYTHONPATH", str(folder))

    def wrong(model, node):
        value = model.add(node, ops.SoftmaxOp(0), model.values[node.inputs[0]])
        return model.add(node, ops.ActivationOp("log"), value)

    monkeypatch.setitem(operators.HANDLERS, "LogSoftmax", wrong)


@pytest.fixture
def build_cache(native_cache, monkeypatch, tmp_path):
    """With the runtime of other tests, but checks of its own."""
    cache = tmp_path / "cache" / "assay" / "native"
    cache.mkdir(parents=True)
    (native_cache / "runtime").mkdir(parents=True, exist_ok=True)
    (cache / "runtime").symlink_to(native_cache / "runtime")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache


@pytest.mark.real("onnx", "onnxruntime", "compiler")
def test_compile_reports_a_wrong_operator(assay, net, plant, build_cache, tmp_path):
    build = tmp_path / "build"

    status, out, err = assay("compile", net, "--kernels", "portable", "-o", str(build))

    assert (status, out) == (1, "")
    assert "is infinite or NaN where ONNX Runtime is not" in err
    assert "for large inputs" in err
    assert not build.exists()


@pytest.mark.real("onnx", "onnxruntime", "compiler")
def test_a_single_run_reports_a_wrong_operator(assay, net, plant, build_cache):
    status, out, err = assay("run", f"{net}@native:kernels=portable", "--budget", "0.2s")

    assert status == 1
    assert "is infinite or NaN where ONNX Runtime is not" in out + err
    assert "nothing was written" not in out + err


@pytest.mark.real("onnx", "onnxruntime", "compiler")
def test_a_run_with_several_backends_reports_it_and_ranks_the_others(
    assay, net, plant, build_cache
):
    cases = [f"{net}@native:kernels=portable", f"{net}@onnxruntime"]

    status, out, err = assay("run", *cases, "--budget", "0.2s")

    assert status == 1
    assert "is infinite or NaN where ONNX Runtime is not" in out + err
    assert "fastest: native" not in out + err


@pytest.mark.real("onnx", "onnxruntime", "compiler")
def test_a_file_is_checked_once_and_again_when_it_changes(assay, net, build_cache, tmp_path):
    case, checks = f"{net}@native:kernels=portable", build_cache / "checks"

    assert assay("run", case, "--budget", "0.2s")[0] == 0
    (outcome,) = checks.iterdir()
    first = outcome.stat().st_mtime_ns
    assert assay("run", case, "--budget", "0.2s")[0] == 0

    assert json.loads(outcome.read_bytes())["judge"] == "ONNX Runtime"
    assert [each.stat().st_mtime_ns for each in checks.iterdir()] == [first]
    written(Path(net), one("LogSoftmax", axis=-1), ("n", 8))
    assert assay("run", case, "--budget", "0.2s")[0] == 0
    assert len(list(checks.iterdir())) == 2


@pytest.mark.real("onnx", "onnxruntime", "compiler")
def test_a_file_that_onnx_runtime_cannot_load_is_not_measured(assay, build_cache, tmp_path):
    path = written(tmp_path / "net.onnx", one("Mish"), ("n", 8), opset=28)

    status, out, err = assay("run", f"{path}@native:kernels=portable", "--budget", "0.2s")

    assert status == 1
    assert "ONNX Runtime cannot run" in out + err


@pytest.mark.real("onnx", "onnxruntime", "compiler")
def test_a_check_that_fails_is_an_outcome_with_a_reason(tmp_path, build_cache):
    path = written(tmp_path / "net.onnx", one("Mish"), ("n", 8), opset=28)

    outcome = check_file(str(path), {}, "portable")

    assert "ONNX Runtime cannot run" in outcome.problem
    assert "onnxruntime_src" not in outcome.problem


# The check's inputs, and what it makes of differences.


def sample(nodes, tmp_path, shape=("n", 8), weights=None, kind=1):
    path = written(tmp_path / "net.onnx", nodes, shape, weights, kind=kind)
    imported = import_onnx(path)
    return imported.graph, onnx_reference(path, imported)


@pytest.mark.real("onnx", "onnxruntime")
def test_nan_and_infinity_are_checked_where_arithmetic_defines_them(tmp_path):
    graph, told = sample(one("Sigmoid"), tmp_path)

    (items,) = told.inputs

    assert len(items) == ITEMS + len(FINITE) + len(NONFINITE)
    assert np.isnan(items[-2]).any() and np.isinf(items[-1]).any()
    wrong = told.outputs[0].copy()
    wrong[-2] = 0
    with pytest.raises(AssayError, match="finite where it is, for NaN inputs"):
        model_agreement("net", graph, [wrong], told)


@pytest.mark.real("onnx", "onnxruntime")
def test_nan_is_not_checked_where_a_kernel_decides(tmp_path):
    graph, told = sample(one("ReduceMax", axes=[2]), tmp_path, ("n", 3, 4))

    assert len(told.inputs[0]) == ITEMS + len(FINITE)
    assert np.isfinite(told.inputs[0]).all()
    assert model_agreement("net", graph, reference.outputs(graph, *told.inputs), told) < 1e-6


@pytest.mark.real("onnx", "onnxruntime")
@pytest.mark.parametrize("kind, low, high", [(2, 0, 255), (3, -128, 127), (7, -(2**31), 2**31 - 1)])
def test_integers_are_checked_at_the_limits_of_their_type(kind, low, high, tmp_path):
    nodes = [("Less", ["x", "seven"], ["l"], {}), ("Cast", ["l"], ["y"], {"to": 1})]
    dtype = {2: np.uint8, 3: np.int8, 7: np.int64}[kind]
    graph, told = sample(nodes, tmp_path, ("n", 40), {"seven": np.array(7, dtype)}, kind)

    (items,) = told.inputs

    assert (items.min(), items.max()) == (low, high)
    assert model_agreement("net", graph, reference.outputs(graph, *told.inputs), told) == 0


@pytest.mark.real("onnx", "onnxruntime")
def test_indices_are_checked_at_both_ends_of_their_table(tmp_path):
    table = {"table": np.arange(12, dtype=np.float32).reshape(6, 2)}
    graph, told = sample(
        [("Gather", ["table", "x"], ["y"], {})], tmp_path, ("n", 30), table, kind=7
    )

    assert set(told.inputs[0][ITEMS:].ravel()) == {-6, -1, 0, 5}
    assert model_agreement("net", graph, reference.outputs(graph, *told.inputs), told) == 0


@pytest.mark.real("onnx", "onnxruntime")
def test_indices_that_are_computed_are_checked_where_they_exist(tmp_path):
    """At their limits they are out of range, which ONNX Runtime refuses."""
    table = {"table": np.arange(12, dtype=np.float32).reshape(6, 2)}
    nodes = [
        ("Cast", ["x"], ["c"], {"to": 7}),
        ("Abs", ["c"], ["i"], {}),
        ("Gather", ["table", "i"], ["y"], {}),
    ]
    _, told = sample(nodes, tmp_path, ("n", 5), table, kind=3)

    assert set(told.inputs[0].ravel()) <= {0, 1}
    assert len(told.inputs[0]) > ITEMS


def noisy():
    """A norm of equal numbers is 0 and what rounding leaves, times 300."""
    made = Making(3, 6, 6)
    value = made.add(ops.LayerNormOp((1, 2), epsilon=1e-5), made.input)
    return made.graph(made.add(ops.LayerNormOp((1, 2), epsilon=1e-5), value))


def test_what_rounding_leaves_of_equal_numbers_is_not_called_wrong():
    graph = noisy()
    items = sample_items(graph)
    told = expected.sample_reference(graph)
    row = ITEMS + list(FINITE).index("equal")
    outputs = [array.copy() for array in reference.outputs(graph, *items)]
    outputs[0][row] += np.random.default_rng(0).normal(size=outputs[0][row].shape) * 1e-2

    assert model_agreement("net", graph, outputs, told) < 1e-4


@pytest.mark.parametrize("kind", FINITE)
def test_a_wrong_item_is_named(kind):
    made = Making(5)
    value = made.add(ops.ActivationOp("tanh"), made.input)
    graph = made.graph(
        made.add(ops.BinaryOp("add"), value, made.building.add_constant("c", [1.0], (0,)))
    )
    told = expected.sample_reference(graph)
    wrong = told.outputs[0].copy()
    wrong[ITEMS + list(FINITE).index(kind)] += 0.01

    with pytest.raises(AssayError, match=f"differs from the numpy reference by .* for {kind} inp"):
        model_agreement("net", graph, [wrong], told)


def test_outputs_of_usual_items_alone_can_be_compared():
    graph = noisy()
    told = expected.sample_reference(graph)

    first = told.first()

    assert isinstance(first, ReferenceOutputs)
    assert [len(each) for each in (*first.inputs, *first.outputs)] == [ITEMS, ITEMS]
