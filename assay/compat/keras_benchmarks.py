"""keras-benchmarks of 2017: its flags as cases of assay, its BigQuery row from a result."""

from __future__ import annotations

from assay.core.errors import NotPossibleError, unknown
from assay.formats.keras_rows import EPOCHS, MODELS, row

__all__ = ["MODELS", "MODES", "case", "row"]

MODES = {"cpu_config": "cpu", "gpu_config": "gpu:0", "multi_gpu_config": ""}
EXAMPLES = 1000


def case(model: str, mode: str, engine: str) -> str:
    """The text of the case the old command line meant."""
    if model not in MODELS:
        raise unknown("model of keras-benchmarks", model, MODELS)
    if mode not in MODES:
        raise unknown("mode of keras-benchmarks", mode, MODES)
    if mode == "multi_gpu_config":
        raise NotPossibleError(
            "multi_gpu_config asks for several GPUs, and assay measures on one device so far.",
            hint="Use gpu_config; several devices come in a later version.",
        )
    options = f"method=fit,epochs={EPOCHS},examples={EXAMPLES},device='{MODES[mode]}'"
    return f"{MODELS[model][0]}@keras-{engine}:{options}"
