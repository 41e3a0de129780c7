"""Keras' engines: which are installed, and the variables by which Keras uses one of them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

KIND = "keras"  # what a workload calls its Keras model
ENGINES = ("jax", "torch", "tensorflow")  # the fastest import first


def installed_engine() -> str:
    """The first installed engine of Keras, or ""."""
    names = (name for name in ENGINES if importlib.util.find_spec(name) is not None)
    return next(names, "") if importlib.util.find_spec("keras") is not None else ""


def missing_reason() -> str:
    """Why no Keras model can be built here, with the remedy, or ""."""
    if installed_engine():
        return ""
    return "Keras is not installed here with an engine: pip install 'assay-lab[jax]'"


def set_seed(seed: int) -> None:
    """Of Keras and its engine; called in a worker, before a model is built."""
    import keras

    with hide_tensorflow():
        keras.utils.set_random_seed(seed)


def flat(inputs: Any) -> list[Any]:
    """In the order of a functional model's inputs."""
    import keras

    tensors: list[Any] = keras.tree.flatten(inputs)
    return tensors


@contextmanager
def hide_tensorflow() -> Iterator[None]:
    """Keras does not import TensorFlow in this context, unless it is loaded already.

    Under every engine it would import it to seed it too, or to check a type, which takes seconds.
    """
    from keras.src.utils import module_utils  # it knows whether TensorFlow is installed

    lazy = module_utils.tensorflow
    known = lazy._available
    if known is None and "tensorflow" not in sys.modules:
        lazy._available = False
    try:
        yield
    finally:
        lazy._available = known


def variables(engine: str, data_format: str, folder: Path) -> Mapping[str, str]:
    """A separate Keras home: the user's keras.json must not change results."""
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
