"""keras-benchmarks of 2017: its flags as cases of assay, its BigQuery row from a result."""

from __future__ import annotations

from assay.backends.options import gpus
from assay.core.errors import NotPossibleError, unknown
from assay.formats.keras_rows import EPOCHS, MODELS, row

__all__ = ["MODELS", "MODES", "case", "row"]

MODES = {"cpu_config": "cpu", "gpu_config": "gpu:0", "multi_gpu_config": "auto"}
MOST_GPUS = 4  # of its config.json
EXAMPLES = 1000


def case(model: str, mode: str, engine: str) -> str:
    """The text of the case the old command line meant."""
    if model not in MODELS:
        raise unknown("model of keras-benchmarks", model, MODELS)
    if mode not in MODES:
        raise unknown("mode of keras-benchmarks", mode, MODES)
    options = f"method=fit,epochs={EPOCHS},examples={EXAMPLES},device='{MODES[mode]}'"
    if mode == "multi_gpu_config":
        options += f",devices={_shared_by(gpus())}" + ",compiler=off" * (engine == "tensorflow")
    return f"{MODELS[model][0]}@keras-{engine}:{options}"


def _shared_by(there: int) -> int:
    """As many GPUs as it had, or of those that are here what shares a batch evenly."""
    if there < 2:
        raise NotPossibleError(
            f"multi_gpu_config asks for several GPUs, and this machine has {there or 'none'}.",
            hint="Use gpu_config or cpu_config; assay scale tries several devices on a CPU.",
        )
    return MOST_GPUS if there >= MOST_GPUS else 2
