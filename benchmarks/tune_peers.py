"""The others of `tune.py`: OpenVINO, ONNX Runtime and torch, in float32 and int8.

All have one thread. Their int8 is calibrated on the images in calibration300.npy: NNCF's
post-training quantization, ONNX Runtime's static one (QDQ, per channel), torch's FX (per channel).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Call = Callable[[Array], Array]


def openvino(folder: Path, contender: str, batch: int) -> Call:
    from openvino import Core

    core = Core()
    name = "openvino-int8.xml" if contender.endswith("int8") else "net.onnx"
    model = core.read_model(folder / name)
    shape = model.input(0).partial_shape
    shape[0] = batch
    model.reshape({model.input(0): shape})
    settings = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY"}
    settings["INFERENCE_PRECISION_HINT"] = "f32"  # else bfloat16 is taken where the CPU has it
    request = core.compile_model(model, "CPU", settings).create_infer_request()

    def call(items: Array) -> Array:
        found: Array = next(iter(request.infer({0: items}, share_inputs=True).values())).copy()
        return found

    return call


def onnxruntime(folder: Path, contender: str, batch: int) -> Call:
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    name = "onnxruntime-int8.onnx" if contender.endswith("int8") else "net.onnx"
    session = InferenceSession(str(folder / name), options)
    entry = session.get_inputs()[0].name
    return lambda items: session.run(None, {entry: items})[0]


def torch_int8(folder: Path, contender: str, batch: int) -> Call:
    import torch
    from torch.ao.quantization import get_default_qconfig_mapping
    from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

    from assay.core import registry

    torch.set_num_threads(1)
    workload = registry.workload(folder.name)
    params = {**workload.params, "weights": "trained"}
    model = _padded_by_numbers(workload.kinds["torch"](**params).model.eval())
    items = torch.from_numpy(_first(np.load(folder / "calibration300.npy")))
    ready = prepare_fx(model, get_default_qconfig_mapping("x86"), (items[:1],))
    with torch.inference_mode():
        for row in range(0, len(items), 50):
            ready(items[row : row + 50])
    made = convert_fx(ready)

    def call(given: Array) -> Array:
        with torch.inference_mode():
            found: Array = made(torch.from_numpy(_first(given))).numpy()
        return found

    return call


def _padded_by_numbers(model: Any) -> Any:
    """Quantized convolutions take no "same": as many zeros as that means for odd windows."""
    import torch

    for each in model.modules():
        if isinstance(each, torch.nn.Conv2d) and isinstance(each.padding, str):
            same = each.padding == "same"
            each.padding = tuple(size // 2 if same else 0 for size in each.kernel_size)
    return model


def onnxruntime_int8(folder: Path) -> None:
    from onnxruntime import quantization

    held = np.load(folder / "calibration300.npy")

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            import onnx

            name = onnx.load(folder / "net.onnx").graph.input[0].name
            self._rows = iter([{name: held[row : row + 1]} for row in range(len(held))])

        def get_next(self) -> dict[str, Array] | None:
            return next(self._rows, None)

    quantization.quantize_static(
        str(folder / "net.onnx"),
        str(folder / "onnxruntime-int8.onnx"),
        Reader(),
        quant_format=quantization.QuantFormat.QDQ,
        per_channel=True,
    )


NNCF = """
import sys, numpy, nncf, openvino
folder = sys.argv[1]
items = numpy.load(folder + "/calibration300.npy")
model = openvino.Core().read_model(folder + "/net.onnx")
held = nncf.Dataset([items[row : row + 1] for row in range(len(items))])
made = nncf.quantize(model, held, subset_size=len(items))
openvino.save_model(made, folder + "/openvino-int8.xml", False)
"""


def _first(items: Array) -> Array:
    return np.ascontiguousarray(np.moveaxis(items, -1, 1))
