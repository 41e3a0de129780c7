"""Parameters of a training loop."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.core.errors import UsageError

OptimizerName = Literal["adam", "sgd"]
Initial = Literal["own", "he", "quiet-branches"]


def _check(holds: bool, name: str, received: object, expected: str) -> None:
    if not holds:
        raise UsageError(
            f"{name} of a recipe is {received}, but has to be {expected}.",
            hint="docs/training.md says what is in a recipe.",
        )


class Augmentation(msgspec.Struct, frozen=True, kw_only=True):
    """Random changes of a training image, drawn for every image and use."""

    shift: int = 0  # at most, in pixels along each axis; filled with 0
    flip: bool = False  # horizontal, with probability 1/2
    rotation: float = 0.0  # degrees at most, either way

    def __post_init__(self) -> None:
        _check(self.shift >= 0, "shift", self.shift, "0 or more")
        _check(0 <= self.rotation <= 180, "rotation", self.rotation, "from 0 to 180")


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """Learning rate: linear warm-up from 0 to its peak, then cosine decay to 0."""

    epochs: int
    batch_size: int
    optimizer: OptimizerName
    learning_rate: float  # at its peak
    warmup: float = 1.0  # epochs; at most a fifth of all
    momentum: float = 0.9  # of sgd, Nesterov
    weight_decay: float = 0.0  # of kernels, times the rate, decoupled as in AdamW
    label_smoothing: float = 0.0
    clip: float = 0.0  # maximum global norm of gradients; 0: no clipping
    augmentation: Augmentation = Augmentation()
    # Weights to start from. he: He et al. (2015), for deep networks of relus without a norm.
    # quiet-branches: he, but each residual branch ends in zeros, as in Fixup (Zhang et al., 2019).
    initial: Initial = "own"

    def __post_init__(self) -> None:
        _check(self.epochs > 0, "epochs", self.epochs, "1 or more")
        _check(self.batch_size > 0, "batch_size", self.batch_size, "1 or more")
        _check(self.learning_rate > 0, "learning_rate", self.learning_rate, "more than 0")
        _check(0 <= self.label_smoothing < 1, "label_smoothing", self.label_smoothing, "below 1")


class Training(msgspec.Struct, frozen=True, kw_only=True):
    """One training, by a recipe or by the model's own method."""

    recipe: Recipe | None = None  # None: the model trains itself
    until: float = 0.0  # stop at this test accuracy in percent; 0: all epochs
    first: int = 0  # number of training images; 0: all
    cut: str = ""  # how it is shorter than the known recipe; "": it is not
    save: str = ""  # a file for the weights, beside the one in the case's folder
