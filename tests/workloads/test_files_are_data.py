"""Model files of Keras and ONNX run no code of their author, also when they are made to."""

from __future__ import annotations

import json
import zipfile

import pytest

from assay.core import registry
from assay.core.errors import UsageError
from tests.workloads.test_bare import resolved

# Functions that would leave a file behind, as `module` and `class_name` of a layer.
NAMES = [
    ("os", "system"),
    ("builtins", "eval"),
    ("posix", "system"),
    ("keras.src.utils", "get_file"),
]


def leaving(marker):
    """A function that leaves a file behind wherever it is called."""
    return lambda x: (open(marker, "a").close(), x)[1]


@pytest.fixture
def marker(tmp_path):
    return tmp_path / "ran"


@pytest.mark.real("keras", "jax")
@pytest.mark.parametrize("name", ["lambda.keras", "lambda.h5"])
def test_a_lambda_layer_is_refused(keras, tmp_path, marker, name):
    from assay.workloads.user import keras_file

    layers = [keras.Input((4,)), keras.layers.Lambda(leaving(str(marker)), output_shape=(4,))]
    keras.Sequential([*layers, keras.layers.Dense(2)]).save(tmp_path / name)
    marker.unlink(missing_ok=True)

    with pytest.raises(UsageError, match=rf"Keras cannot load a model from .*{name}.*Lambda"):
        keras_file.load_model(str(tmp_path / name))

    assert not marker.exists()


@pytest.mark.real("keras", "jax")
@pytest.mark.parametrize(("module", "name"), NAMES)
def test_a_keras_file_names_no_function_to_call(keras, tmp_path, marker, module, name):
    from assay.workloads.user import keras_file

    file = tmp_path / "net.keras"
    keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)]).save(file)
    with zipfile.ZipFile(file) as archive:
        members = {one: archive.read(one) for one in archive.namelist()}
    document = json.loads(members["config.json"])
    document["config"]["layers"][1].update(
        module=module,
        class_name=name,
        registered_name=f"{module}>{name}",
        config={"command": f"touch {marker}"},
    )
    members["config.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(file, "w") as archive:
        for one, data in members.items():
            archive.writestr(one, data)

    with pytest.raises(UsageError, match=r"Keras cannot load a model from .*net\.keras"):
        keras_file.load_model(str(file))

    assert not marker.exists()


@pytest.mark.real("onnx", "onnxruntime")
def test_an_onnx_file_calls_no_python(tmp_path, marker):
    """ONNX Runtime can be built with an operator that calls Python; nothing registers one here."""
    import onnx
    from onnx import TensorProto, helper

    info = helper.make_tensor_value_info
    code = f"open('{marker}', 'a')"
    node = helper.make_node(
        "PyOp",
        ["x"],
        ["y"],
        domain="com.microsoft",
        module="builtins",
        class_name="eval",
        code=code,
    )
    shapes = [info(name, TensorProto.FLOAT, [2, 4]) for name in "xy"]
    graph = helper.make_graph([node], "calls", shapes[:1], shapes[1:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "calls.onnx")

    case = resolved(f"{tmp_path}/calls.onnx@onnxruntime")
    build = registry.workload(case.workload).kinds["onnx"]
    session = registry.backend("onnxruntime").open(lambda: build(**case.params), case)
    with pytest.raises(Exception, match="PyOp"), session:
        pass

    assert not marker.exists()
