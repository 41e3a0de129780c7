"""TensorFlow by itself: one tf.function, with XLA or without."""

from __future__ import annotations

from assay.backends import _options
from assay.backends._framework import FrameworkBackend
from assay.contracts import Option
from assay.records import Case

COMPILER = Option(
    default="off", choices=("off", "on"), help="jit_compile of the tf.function around the step"
)


def _refusal(case: Case) -> str:
    first = case.options["data_format"] == "channels_first"
    if first and case.options["compiler"] == "off" and _options.on_cpu(case):
        return "TensorFlow's CPU kernels lack channels_first; use channels_last, or compiler on"
    return ""


PROVIDES = {
    "tensorflow": FrameworkBackend(
        name="tensorflow",
        summary="TensorFlow by itself",
        own={"compiler": COMPILER},
        refusal=_refusal,
    )
}
