"""Recipes that train HPVM's networks to at least the accuracies of its table.

Upstream's are partly broken: unused augmentation, names that do not exist, a rate of 0.1 for Adam.
These need a fraction of the epochs, by larger batches, warm-up and cosine decay of the rate, and
images that are randomly shifted and flipped.
"""

from __future__ import annotations

from assay.core.recipe import Augmentation, Recipe

_MOVED = Augmentation(shift=4, flip=True)  # as He et al. (2015) for CIFAR-10

RECIPES = {
    "lenet": Recipe(
        epochs=6,
        batch_size=128,
        optimizer="adam",
        learning_rate=1e-3,
        warmup=0.25,
        augmentation=Augmentation(shift=1),
    ),
    "alexnet": Recipe(
        epochs=40,
        batch_size=256,
        optimizer="adam",
        learning_rate=5e-4,
        warmup=2,
        weight_decay=0.05,
        augmentation=_MOVED,
    ),
    "alexnet2": Recipe(
        epochs=220,
        batch_size=128,
        optimizer="adam",
        learning_rate=5e-4,
        warmup=5,
        weight_decay=0.02,
        augmentation=Augmentation(shift=3, flip=True),
    ),
    "vgg16-cifar10": Recipe(
        epochs=140,
        batch_size=256,
        optimizer="adam",
        learning_rate=5e-4,
        warmup=5,
        weight_decay=0.3,
        label_smoothing=0.1,
        clip=1.0,
        augmentation=_MOVED,
        initial="he",
    ),
    "mobilenet-cifar10": Recipe(
        epochs=60,
        batch_size=256,
        optimizer="sgd",
        learning_rate=0.1,
        warmup=3,
        weight_decay=5e-3,
        augmentation=_MOVED,
    ),
    "resnet18-cifar10": Recipe(
        epochs=150,
        batch_size=256,
        optimizer="sgd",
        learning_rate=0.1,
        warmup=5,
        weight_decay=2e-3,
        clip=1.0,
        augmentation=_MOVED,
        initial="quiet-branches",
    ),
}
