"""OpenVINO: a step is one inference over a batch that is set once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import openvino

from assay.backends.captured import CapturedJob, OnnxFile, join_outputs, vary_inputs
from assay.core import fingerprint
from assay.core.errors import EndingError
from assay.core.records import Case, Value


class OpenVinoSession:
    def __init__(self, captured: CapturedJob | OnnxFile, case: Case) -> None:
        self._captured, self._case = captured, case
        self.items = captured.items
        self._compiled = _compile_model(captured, case)
        self._request = self._compiled.create_infer_request()
        self.set_inputs(self.fresh_inputs(0))

    def fresh_inputs(self, number: int) -> Any:
        """The arrays, and the runtime's tensors over their memory."""
        arrays = vary_inputs(self._captured, number)
        tensors = {n: openvino.Tensor(array, shared_memory=True) for n, array in arrays.items()}
        return arrays, tensors

    def set_inputs(self, inputs: Any) -> None:
        for name, tensor in inputs[1].items():
            self._request.set_tensor(name, tensor)

    def step(self) -> None:
        self._request.infer(share_outputs=True)

    def wait(self) -> None:
        pass  # an inference returns when its outputs are written

    def step_output(self) -> tuple[tuple[int, ...], Any]:
        return fingerprint.sample_values(self._join_outputs())

    def outputs(self) -> Any:
        self._request.infer(share_outputs=True)
        return self._join_outputs()

    def _join_outputs(self) -> Any:
        count = len(self._compiled.outputs)
        return join_outputs(
            [np.array(self._request.get_output_tensor(n).data) for n in range(count)]
        )

    def read(self) -> object:
        return np.array(self._request.get_output_tensor(0).data)

    def predict(self, inputs: Any) -> Any:
        """Outputs of a batch of the size it was opened for; images are channels last."""
        return np.array(self._request.infer({0: self._captured.to_graph_layout(inputs)})[0])

    def facts(self) -> Mapping[str, Value]:
        return {
            **self._captured.facts(self._case),
            "threads": int(self._compiled.get_property("INFERENCE_NUM_THREADS")),
            "inference_precision": self._compiled.get_property(
                "INFERENCE_PRECISION_HINT"
            ).get_type_name(),
        }


def _compile_model(captured: CapturedJob | OnnxFile, case: Case) -> Any:
    core = openvino.Core()
    try:
        model = core.read_model(captured.onnx())
        # static shapes, as for every other contender
        model.reshape(
            {name: list(array.shape) for name, array in captured.inputs_by_name().items()}
        )
        return core.compile_model(model, "CPU", _settings())
    except RuntimeError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        message = next((line for line in reversed(lines) if "Exception" not in line), "no word")
        version = openvino.__version__.partition("-")[0]
        raise EndingError(
            "failed", f"OpenVINO {version} cannot load {case.workload}: {message}"
        ) from error


def _settings() -> dict[str, Any]:
    """One inference at a time on all CPUs of this process; float32 means float32."""
    return {
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": "1",
        "INFERENCE_NUM_THREADS": len(os.sched_getaffinity(0)),
        "INFERENCE_PRECISION_HINT": "f32",  # default: bfloat16 if the CPU has it
    }


open_session = OpenVinoSession
