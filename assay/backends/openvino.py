"""OpenVINO on the CPU, for one inference at a time."""

from __future__ import annotations

from assay.backends._captured import CapturedBackend

PROVIDES = {
    "openvino": CapturedBackend(
        name="openvino", summary="OpenVINO on the CPU, inference of a captured Keras model"
    )
}
