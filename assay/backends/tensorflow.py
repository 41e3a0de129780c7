"""TensorFlow by itself: one tf.function, with XLA or without."""

from __future__ import annotations

from assay.backends import _options
from assay.backends._framework import FrameworkBackend
from assay.contracts import Option

COMPILER = Option(
    default="off", choices=("off", "on"), help="jit_compile of the tf.function around the step"
)


PROVIDES = {
    "tensorflow": FrameworkBackend(
        name="tensorflow",
        summary="TensorFlow by itself",
        own={"compiler": COMPILER},
        refusal=_options.no_channels_first,
    )
}
