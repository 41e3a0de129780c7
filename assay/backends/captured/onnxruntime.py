"""ONNX Runtime: a step is one run over a batch that is bound once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as errors

from assay.backends.captured import CapturedJob, OnnxFile, join_outputs, vary_inputs
from assay.core import fingerprint
from assay.core.errors import EndingError
from assay.core.records import Case, Value
from assay.native.onnx.read import runtime_message

# Errors for an invalid or unsupported file.
_REFUSALS = (
    *(errors.Fail, errors.InvalidGraph, errors.InvalidProtobuf, errors.NotImplemented),
    *(errors.InvalidArgument, errors.RuntimeException, errors.NoSuchFile),
)
_PROVIDER = "CPUExecutionProvider"


class OnnxRuntimeSession:
    def __init__(self, captured: CapturedJob | OnnxFile, case: Case) -> None:
        self._captured, self._case = captured, case
        self.items = captured.items
        options = onnxruntime.SessionOptions()
        # its default is the machine's cores, not those this process may use
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        self._session = _create_session(captured, options, case)
        self.set_inputs(self.fresh_inputs(0))

    def fresh_inputs(self, number: int) -> Any:
        """A binding to run with, and the arrays it reads."""
        arrays, binding = vary_inputs(self._captured, number), self._session.io_binding()
        for name, array in arrays.items():
            binding.bind_cpu_input(name, array)
        for output in self._session.get_outputs():
            binding.bind_output(output.name, "cpu")
        return arrays, binding

    def set_inputs(self, inputs: Any) -> None:
        _, self._binding = inputs

    def step(self) -> None:
        self._session.run_with_iobinding(self._binding)

    def wait(self) -> None:
        pass  # a run returns when its outputs are written

    def step_output(self) -> tuple[tuple[int, ...], Any]:
        return fingerprint.sample_values(join_outputs(self._binding.copy_outputs_to_cpu()))

    def outputs(self) -> Any:
        self._session.run_with_iobinding(self._binding)
        return join_outputs(self._binding.copy_outputs_to_cpu())

    def read(self) -> object:
        return self._binding.copy_outputs_to_cpu()[0]

    def predict(self, inputs: Any) -> Any:
        """Outputs of a batch; images are channels last."""
        name = next(iter(self._captured.inputs_by_name()))
        return self._session.run(None, {name: self._captured.to_graph_layout(inputs)})[0]

    def facts(self) -> Mapping[str, Value]:
        return {**self._captured.facts(self._case), "provider": _PROVIDER}


def _create_session(captured: CapturedJob | OnnxFile, options: Any, case: Case) -> Any:
    try:
        return onnxruntime.InferenceSession(captured.onnx(), options, providers=[_PROVIDER])
    except _REFUSALS as error:
        message = runtime_message(error)
        version = onnxruntime.__version__
        raise EndingError(
            "failed", f"ONNX Runtime {version} cannot load {case.workload}: {message}"
        ) from error


open_session = OnnxRuntimeSession
