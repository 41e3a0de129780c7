"""ONNX Runtime on the CPU, with its own optimizations."""

from __future__ import annotations

from assay.backends._captured import CapturedBackend

PROVIDES = {
    "onnxruntime": CapturedBackend(
        name="onnxruntime", summary="ONNX Runtime on the CPU, inference of a captured Keras model"
    )
}
