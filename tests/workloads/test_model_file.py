"""Model files as workloads: ONNX, programs of torch.export, Keras'."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

import assay
from assay.core import registry
from assay.core.errors import UsageError
from assay.core.registry import backends_for
from assay.formats import onnx_header
from tests.workloads.test_bare import opened, resolved

TABLE = np.random.default_rng(0).random((10, 4), dtype=np.float32)


def onnx_file(path: Path, opset: int = 13, batch: int | str = "batch") -> Path:
    """Means of looked-up rows, added to vectors: floating point and tokens in, two free axes."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["ids"], ["whole"], to=TensorProto.INT64),
            helper.make_node("Gather", ["table", "whole"], ["rows"]),
            helper.make_node("Transpose", ["rows"], ["turned"], perm=[0, 2, 1]),
            helper.make_node("GlobalAveragePool", ["turned"], ["pooled"]),
            helper.make_node("Flatten", ["pooled"], ["means"]),
            helper.make_node("Add", ["means", "x"], ["y"]),
        ],
        "tiny",
        [
            info("x", TensorProto.FLOAT, [batch, 4]),
            info("ids", TensorProto.INT32, [batch, "seq-length"]),
        ],
        [info("y", TensorProto.FLOAT, [batch, 4])],
        [numpy_helper.from_array(TABLE, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(model, str(path))
    return path


@pytest.mark.real("onnx")
def test_the_header_tells_inputs_axes_tables_and_parameters(tmp_path):
    header = onnx_header.read(onnx_file(tmp_path / "tiny.onnx"))

    assert (header.opset, header.parameters) == (13, 40)
    assert [(one.name, one.dtype, one.sizes, one.upper_bound) for one in header.inputs] == [
        ("x", "float32", ("batch", 4), 0),
        ("ids", "int32", ("batch", "seq-length"), 10),
    ]


@pytest.mark.real("onnx")
def test_weights_beside_a_file_belong_to_its_version(tmp_path):
    import onnx

    file = onnx_file(tmp_path / "tiny.onnx")
    onnx.save(onnx.load(file), file, save_as_external_data=True, location="w", size_threshold=0)
    before = registry.workload(str(file)).version

    (tmp_path / "w").write_bytes((2 * TABLE).tobytes())

    assert registry.workload(str(file)).version != before
    (tmp_path / "w").unlink()
    with pytest.raises(UsageError, match=r"tiny\.onnx has its weights in the file w, which is not"):
        registry.workload(str(file))


@pytest.mark.real("onnx")
@pytest.mark.parametrize("opset", [13, 17, 21])
@pytest.mark.parametrize(
    "backend",
    [
        *(pytest.param(n, marks=pytest.mark.real(n)) for n in ("onnxruntime", "openvino")),
        pytest.param("native:kernels=portable", marks=pytest.mark.real("compiler")),
    ],
)
def test_an_onnx_file_is_run_as_it_is(tmp_path, backend, opset, cache_home, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    file = onnx_file(tmp_path / "tiny.onnx", opset)
    case = resolved(f"{file}:batch_size=3,seq_length=5@{backend}")
    job = registry.workload(str(file)).kinds["onnx"](**case.params)
    inputs = job.train_batch[0]

    with registry.backend(case.backend).open(lambda: job, case) as session:
        session.step()
        found = session.outputs()

    assert found == pytest.approx(TABLE[inputs["ids"]].mean(1) + inputs["x"], abs=1e-5)
    assert (session.items, session.facts()["input_shape"]) == (3, "3x4, 3x5")


@pytest.mark.real("onnx", "onnxruntime")
def test_what_a_file_leaves_open_is_asked_for(tmp_path):
    (result,) = assay.run(f"{onnx_file(tmp_path / 'tiny.onnx')}@onnxruntime")

    assert result.status == "skipped"
    assert "say it, as in tiny.onnx:seq_length=128" in result.reason


@pytest.mark.real("onnx", "onnxruntime")
def test_a_newer_opset_is_said_by_the_runtime(tmp_path):
    file = onnx_file(tmp_path / "newer.onnx", opset=99)

    (result,) = assay.run(f"{file}:seq_length=2@onnxruntime")

    assert result.status == "failed"
    assert "cannot load" in result.reason and "Opset 99" in result.reason


@pytest.mark.real("onnx")
@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        ("{file}@onnxruntime:mode=train", "cannot be trained"),
        ("{file}@torch", "torch cannot open"),
        ("{file}:length=3@onnxruntime", "no parameter"),
        ("{fixed}:batch_size=5@onnxruntime", "has to be one of 2"),
        ("{cut}@onnxruntime", "not all of one"),
        ("{empty}@onnxruntime", "no ONNX model"),
        ("nowhere.onnx@onnxruntime", "no file nowhere.onnx"),
        ("{program}@torch", "no program of torch.export"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_at_once(tmp_path, case, sentence):
    file = onnx_file(tmp_path / "tiny.onnx")
    cut, empty, program = (tmp_path / name for name in ("cut.onnx", "empty.onnx", "cut.pt2"))
    cut.write_bytes(file.read_bytes()[:200])
    empty.touch()
    program.write_bytes(b"PK")
    fixed = onnx_file(tmp_path / "fixed.onnx", batch=2)

    with pytest.raises(UsageError, match=sentence):
        resolved(case.format(file=file, cut=cut, empty=empty, fixed=fixed, program=program))


@pytest.mark.real("torch")
def test_an_exported_program_is_run_in_the_sizes_asked_for(tmp_path):
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(10, 4)

        def forward(self, x, ids):
            return x + self.table(ids).mean(1)

    net, batch = Net(), torch.export.Dim("batch")
    sizes = {"x": {0: batch}, "ids": {0: batch, 1: torch.export.Dim("length", min=2, max=64)}}
    given = torch.rand(2, 4), torch.randint(0, 10, (2, 5))
    torch.export.save(torch.export.export(net, given, dynamic_shapes=sizes), tmp_path / "net.pt2")

    assert resolved(f"{tmp_path}/net.pt2@torch").params == {"batch_size": 1, "ids_1": 5, "seed": 0}
    with opened(f"{tmp_path}/net.pt2:batch_size=3,ids_1=7@torch") as (session, job):
        session.step()
        found = session.outputs()
        assert session.facts()["input_shape"] == "3x4, 3x7"
        assert found == pytest.approx(net(*job.train_batch[0]).detach().numpy(), abs=1e-5)


@pytest.mark.real("torch")
def test_a_program_of_another_torch_is_said_to_be_so(tmp_path):
    import torch

    file = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(torch.nn.Linear(4, 2), (torch.rand(2, 4),)), file)
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    (name,) = (name for name in members if re.search(r"models/[^/]+\.json$", name))
    program = json.loads(members[name])
    members[name] = json.dumps({**program, "schema_version": {"major": 999, "minor": 1}}).encode()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, held in members.items():
            archive.writestr(name, held)

    with (
        pytest.raises(UsageError, match=r"torch 2\S+ cannot load .*net\.pt2") as caught,
        opened(f"{file}@torch"),
    ):
        pass

    assert caught.value.hint == "Export it again with this version."


@pytest.mark.real("keras", "jax")
def test_a_keras_file_is_a_workload_of_every_keras_backend(tmp_path, keras):

    tokens, vector = keras.Input((None,), dtype="int32"), keras.Input((4,))
    rows = keras.layers.Embedding(10, 4)(tokens)
    net = keras.Model([tokens, vector], keras.layers.GlobalAveragePooling1D()(rows) + vector)
    net.save(tmp_path / "net.keras")
    workload = registry.workload(str(tmp_path / "net.keras"))
    (name,) = set(workload.params) - {"batch_size", "seed"}

    job = workload.kinds["keras"](**{**workload.params, "batch_size": 3, name: 6})

    assert {"keras-jax", "onnxruntime"} <= set(backends_for(workload))
    assert [part.shape for part in job.train_batch[0]] == [(3, 6), (3, 4)]
    assert job.train_batch[0][0].max() < 10 and job.train_batch[1].shape == (3,)
    assert job.model(list(job.train_batch[0])).shape == (3, 4)
