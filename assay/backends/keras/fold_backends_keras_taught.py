"""A Keras model trained as ordered: by a recipe, or by its own method; its weights saved."""

from __future__ import annotations

import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

from assay.backends import options
from assay.backends.keras.model import KerasModel
from assay.backends.keras.train import Trainer, train
from assay.core.errors import AssayError, EndingError
from assay.core.messages import Train
from assay.core.recipe import Recipe
from assay.core.records import Samples, Value
from assay.core.sessions import Report
from assay.weights import keras as _keras

Taught = Generator[Report, None, Any]  # what is told on the way, and the trained model


def taught(built: KerasModel, order: Train) -> Taught:
    request = order.training
    model = yield from (
        _by_recipe(built, request.recipe, order) if request.recipe else _by_itself(built)
    )
    # a benchmark class may say itself where its weights go
    chosen = str(built.job.facts.get(request.save, request.save))
    _keras.save(model, order.weights)
    built.saved = _saved(model, chosen) if chosen else {}
    return model


def _saved(model: Any, path: str) -> dict[str, Value]:  # noqa: ANN401 (a keras.Model)
    """What became of a file the user asked for; a full disk must not cost the accuracy."""
    try:
        _keras.save(model, path)
    except (AssayError, ImportError, OSError, ValueError) as error:  # what Keras and h5py raise
        return {"save_problem": f"{path} was not written ({error})"}
    return {"weights_saved": path}


def _by_recipe(built: KerasModel, recipe: Recipe, order: Train) -> Taught:
    if built.job.eval_data is None:
        raise EndingError("skipped", f"{built.case.workload} has no data to be trained on")
    trainer = Trainer(
        built.model,
        recipe,
        built.job.eval_data("train", order.training.first),
        built.job.eval_data("test", 0),
        seed=options.seed(built.case),
        jit=built.case.options["compiler"] == "on",
    )
    earlier = Path(order.earlier) if order.earlier else None
    yield from train(trainer, order.training.until, Path(order.checkpoint), earlier)
    return built.model


def _by_itself(built: KerasModel) -> Taught:
    """All of it is one time: what its epochs are, only it knows."""
    if built.job.train is None:
        raise EndingError("failed", f"{built.case.workload} does not train itself: give a recipe")
    start = time.perf_counter()
    model = built.job.train(built.model)
    seconds = time.perf_counter() - start
    yield Report(Samples(metric="train_time", unit="s", phase="steady", values=(seconds,)))
    return model
