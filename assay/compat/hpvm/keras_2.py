"""Names and arguments of Keras 2 that HPVM's scripts use, added to Keras 3 in this process."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from assay.core.errors import UsageError

DATASETS = ("mnist", "cifar10", "cifar100")


def add_names(keras: Any) -> None:
    """Add them: np_utils, ImageDataGenerator, fit_generator, lr and decay, local datasets."""
    from assay.compat.hpvm.keras_images import ImageDataGenerator

    np_utils = types.ModuleType("keras.utils.np_utils", "keras.utils.np_utils of Keras 2.")
    vars(np_utils).update(
        to_categorical=keras.utils.to_categorical, normalize=keras.utils.normalize
    )
    keras.utils.np_utils = sys.modules[np_utils.__name__] = np_utils
    vars(keras.preprocessing.image)["ImageDataGenerator"] = ImageDataGenerator
    base = keras.optimizers.Optimizer
    for name, value in list(vars(keras.optimizers).items()):
        if inspect.isclass(value) and issubclass(value, base) and value is not base:
            setattr(keras.optimizers, name, _accept_old_arguments(value))
    for name, method in (
        ("fit_generator", keras.Model.fit),
        ("evaluate_generator", keras.Model.evaluate),
        ("predict_generator", keras.Model.predict),
    ):
        setattr(keras.Model, name, _accept_generator(method))
    for name in DATASETS:
        vars(getattr(keras.datasets, name))["load_data"] = functools.partial(load_data, name)


def load_data(name: str, *_: object) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """A dataset as Keras gives it, from where `assay data` stores it."""
    import keras

    from assay.datasets.library import load

    splits = []
    for split in ("train", "test"):
        images, labels = load(name, split)
        labels = np.asarray(labels)
        if name == "mnist":
            images = images.reshape(images.shape[:3])
        else:
            labels = labels.reshape(-1, 1)
            if keras.config.image_data_format() == "channels_first":
                images = np.moveaxis(images, -1, 1)
        splits.append((np.asarray(images), labels))
    train, test = splits
    return train, test


def _accept_old_arguments(optimizer: Any) -> Any:
    """The optimizer with `lr`, and with `decay`: the rate divided by 1 + decay × iterations."""

    class Optimizer(optimizer):  # type: ignore[misc]
        def __init__(
            self, *args: object, lr: object = None, decay: float = 0.0, **kwargs: object
        ) -> None:
            rate = {} if lr is None else {"learning_rate": lr}
            super().__init__(*args, **rate, **kwargs)
            self.decay = decay

        def _get_current_learning_rate(self) -> Any:
            rate = super()._get_current_learning_rate()
            if not self.decay:
                return rate
            from keras import ops

            return rate / (1 + self.decay * ops.cast(self.iterations, "float32"))

    Optimizer.__name__ = Optimizer.__qualname__ = optimizer.__name__
    return Optimizer


def _accept_generator(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method of Keras 3 that takes generators, without the arguments it no longer has."""

    @functools.wraps(method)
    def from_generator(model: Any, generator: Any, *args: object, **kwargs: object) -> Any:
        kwargs |= zip(("steps_per_epoch", "epochs"), args, strict=False)
        for gone in ("workers", "use_multiprocessing", "max_queue_size", "pickle_safe"):
            kwargs.pop(gone, None)
        if unknown := kwargs.keys() - inspect.signature(method).parameters.keys():
            raise UsageError(
                f"{method.__name__}_generator was called with {', '.join(sorted(unknown))}.",
                hint="HPVM's compatibility layer has the arguments of Keras 3.",
            )
        return method(model, generator, **kwargs)

    return from_generator
