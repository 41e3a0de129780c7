"""Our own compiler: a captured Keras model as C++, built where it runs."""

from __future__ import annotations

from collections.abc import Mapping

from assay.backends import _options, engines
from assay.backends._captured import OPTIONS, CapturedBackend
from assay.contracts import Option
from assay.native import compiler
from assay.records import Case

KERNELS = Option(
    default="auto",
    choices=("auto", "portable", "onednn"),
    help="auto times oneDNN's and our own for each layer; portable and onednn take one of the two",
)


class NativeBackend(CapturedBackend, frozen=True, kw_only=True):
    """It needs a compiler; oneDNN only where it is asked for."""

    @property
    def options(self) -> Mapping[str, Option]:
        return {**OPTIONS, "kernels": KERNELS}

    def missing(self) -> str:
        return _options.lacking(("numpy",), "native") or compiler.lacking() or engines.lacking()

    def refuses(self, case: Case) -> str:
        if case.options["kernels"] == "onednn" and not compiler.onednn_folder():
            return "oneDNN is not installed here: pip install 'assay[native]'"
        return _options.refused(case)


PROVIDES = {
    "native": NativeBackend(
        name="native", summary="assay's own compiler, inference of a captured Keras model"
    )
}
