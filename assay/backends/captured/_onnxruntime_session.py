"""ONNX Runtime: a step is one run over a batch that is bound once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import onnxruntime

from assay.backends.captured.backend import Captured
from assay.core.records import Case, Value
from assay.native.onnx.file import onnx_bytes

_PROVIDER = "CPUExecutionProvider"


class OnnxRuntimeSession:
    def __init__(self, captured: Captured, case: Case) -> None:
        self._captured, self._case = captured, case
        self.items = captured.items
        options = onnxruntime.SessionOptions()
        # By itself it would count the machine's cores, not those this process may use.
        options.intra_op_num_threads = len(os.sched_getaffinity(0))
        graph = captured.graph
        self._session = onnxruntime.InferenceSession(
            onnx_bytes(graph), options, providers=[_PROVIDER]
        )
        self._binding = self._session.io_binding()
        for value, array in zip(graph.inputs, captured.inputs, strict=True):
            self._binding.bind_cpu_input(value.name, array)
        for output in self._session.get_outputs():
            self._binding.bind_output(output.name, "cpu")

    def step(self) -> None:
        self._session.run_with_iobinding(self._binding)

    def wait(self) -> None:
        pass  # a run returns when its outputs are written

    def outputs(self) -> Any:  # noqa: ANN401 (a numpy array)
        self.step()
        return self._binding.copy_outputs_to_cpu()[0]

    def predict(self, inputs: Any) -> Any:  # noqa: ANN401 (numpy arrays)
        """Outputs of a batch; pictures are given with channels last."""
        name = self._captured.graph.inputs[0].name
        return self._session.run(None, {name: self._captured.given(inputs)})[0]

    def facts(self) -> Mapping[str, Value]:
        return {**self._captured.facts(self._case), "provider": _PROVIDER}


open_session = OnnxRuntimeSession
