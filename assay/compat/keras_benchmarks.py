"""assay keras-benchmarks: the flags and the BigQuery row of keras-benchmarks (2017)."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated, Any

import msgspec

from assay.backends.options import gpus
from assay.cli import options, printing
from assay.cli.command import click_command
from assay.core.errors import NotPossibleError, UsageError, unknown_name_error
from assay.core.options import Flag, StoreUrl
from assay.core.records import Procedure
from assay.formats.keras_rows import EPOCHS, MODELS, row

__all__ = ["MODELS", "MODES", "case", "row"]

MODES = {"cpu_config": "cpu", "gpu_config": "gpu:0", "multi_gpu_config": "auto"}
MAX_GPUS = 4  # in config.json of keras-benchmarks
EXAMPLES = 1000


def case(model: str, mode: str, engine: str) -> str:
    """The text of the case for a command line of keras-benchmarks."""
    if model not in MODELS:
        raise unknown_name_error("model of keras-benchmarks", model, MODELS)
    if mode not in MODES:
        raise unknown_name_error("mode of keras-benchmarks", mode, MODES)
    options = f"method=fit,epochs={EPOCHS},examples={EXAMPLES},device='{MODES[mode]}'"
    if mode == "multi_gpu_config":
        options += f",devices={_device_count(gpus())}" + ",compiler=off" * (engine == "tensorflow")
    return f"{MODELS[model][0]}@keras-{engine}:{options}"


def _device_count(available: int) -> int:
    """Four GPUs as in keras-benchmarks, else two: a batch divides evenly."""
    if available < 2:
        raise NotPossibleError(
            f"multi_gpu_config asks for several GPUs, and this machine has {available or 'none'}.",
            hint="Use gpu_config or cpu_config; assay scale tries several devices on a CPU.",
        )
    return MAX_GPUS if available >= MAX_GPUS else 2


def configured_engine() -> str:
    """The backend of KERAS_BACKEND, else of keras.json, as in Keras; else tensorflow."""
    if engine := os.environ.get("KERAS_BACKEND"):
        return engine
    path = Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras") / "keras.json"
    try:
        settings = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except OSError:
        return "tensorflow"
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} is no file of Keras settings ({error}).",
            hint="Repair or remove it, or set KERAS_BACKEND.",
        ) from None
    return str(settings.get("backend") or "tensorflow")


@click_command(
    separator="_",
    epilog="""\b
Example:
  assay keras-benchmarks --mode cpu_config --model_name mnist_mlp --dry_run""",
)
def command(
    *,
    mode: Annotated[str, Flag(", ".join(MODES))] = "cpu_config",
    model_name: Annotated[str, Flag(f"All of them without it: {', '.join(MODELS)}")] = "",
    dry_run: Annotated[bool, Flag("Print the row and keep nothing.", read="truth")] = False,
    keras_backend: Annotated[
        str, Flag("jax, tensorflow or torch; else KERAS_BACKEND or keras.json.")
    ] = "",
    store: StoreUrl = None,
) -> int:
    """One fit() of four epochs for each model, the first left out; the old table's row as JSON.

    It differs from the old tool in that hardware is detected rather than declared, results are kept
    here rather than uploaded, and a model that fails is reported, with exit status 1.
    """
    from assay.cli.finish import handle_signals, print_uploads
    from assay.cli.progress import ProgressLine
    from assay.commands.run import api

    handle_signals()
    engine = keras_backend or configured_engine()
    line = ProgressLine()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if dry_run else store
        status = 0
        for model in [model_name] if model_name else MODELS:
            results = api.run(
                case(model, mode, engine),
                procedure=Procedure(timeout=3600),
                store=folder,
                progress=line,
            )
            run = ""
            for result in results:
                line.done(result)
                run = result.run
                if result.status != "ok":
                    options.print_message(f"{model}: {result.status}: {result.reason}")
                    status = 1
                else:
                    printing.put_document(row(result, model))
            if run and not dry_run:
                print_uploads(run, store)
    return status
