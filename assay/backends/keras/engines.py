"""Keras' engines: which are here, and the world in which Keras takes one and nothing else."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

KIND = "keras"  # what a workload calls its Keras model
ENGINES = ("jax", "torch", "tensorflow")  # the quickest to load first


def installed() -> str:
    """The first engine that Keras finds here, or "" where it can find none."""
    found = (name for name in ENGINES if importlib.util.find_spec(name) is not None)
    return next(found, "") if importlib.util.find_spec("keras") is not None else ""


def lacking() -> str:
    """Why no Keras model can be built here, with the remedy, or ""."""
    if installed():
        return ""
    return "Keras is not installed here with an engine: pip install 'assay[jax]'"


def set_seed(seed: int) -> None:
    """Of Keras and of the engine it runs on; called in a worker, before a model is built."""
    import keras

    with without_tensorflow():
        keras.utils.set_random_seed(seed)


def flat(inputs: Any) -> list[Any]:
    """In the order in which a functional model has its inputs."""
    import keras

    found: list[Any] = keras.tree.flatten(inputs)
    return found


@contextmanager
def without_tensorflow() -> Iterator[None]:
    """Keras does not load TensorFlow in here, unless it is loaded already.

    To seed it too, or to ask whether a setting is one of its types, it would under every engine,
    which takes seconds.
    """
    from keras.src.utils import module_utils  # what knows whether it is there

    lazy = module_utils.tensorflow
    known = lazy._available
    if known is None and "tensorflow" not in sys.modules:
        lazy._available = False
    try:
        yield
    finally:
        lazy._available = known


def variables(engine: str, data_format: str, folder: Path) -> Mapping[str, str]:
    """A Keras home of its own: the user's keras.json must not change a number."""
    home = folder / "keras-home"
    home.mkdir(exist_ok=True)
    settings = {
        "backend": engine,
        "floatx": "float32",
        "epsilon": 1e-7,
        "image_data_format": data_format,
    }
    (home / "keras.json").write_bytes(msgspec.json.encode(settings))
    return {"KERAS_HOME": str(home), "KERAS_BACKEND": engine}
