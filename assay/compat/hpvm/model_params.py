"""HPVM's folder of weights and preprocessed images, which its scripts call MODEL_PARAMS_DIR."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from assay.core.errors import NotPossibleError
from assay.datasets.library import cache

FOLDER = "model_params"


def places(script: Path) -> Iterator[Path]:
    """Where it is looked for, in this order."""
    folder = script.absolute().parent
    yield folder.parent / FOLDER
    yield from (parent / "test" / "dnn_benchmarks" / FOLDER for parent in folder.parents)
    here = Path.cwd()
    yield from (parent / FOLDER for parent in (here, *here.parents))
    if chosen := os.environ.get("ASSAY_DATA"):
        yield Path(chosen).expanduser().absolute() / FOLDER
    yield cache() / FOLDER


def find_model_params(script: Path) -> Path:
    """The first of the places that is a folder; without any, an error lists them."""
    tried = list(dict.fromkeys(places(script)))
    for folder in tried:
        if folder.is_dir():
            return folder
    raise NotPossibleError(
        f"HPVM's folder {FOLDER} is missing: none of {', '.join(map(str, tried))} exists.",
        hint="assay data fetch model_params, or name the folder it is in by ASSAY_DATA.",
    )


def __getattr__(name: str) -> str:
    if name != "MODEL_PARAMS_DIR":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return str(find_model_params(Path(sys.argv[0])))
