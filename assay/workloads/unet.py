"""unet: Ronneberger and others (2015), a class for every pixel."""

from __future__ import annotations

from typing import Any

from assay.core.sessions import Job
from assay.workloads.models.model_workload import (
    BuiltWorkload,
    build_model,
    check_divides,
    kinds,
    random_images,
    size_options,
)
from assay.workloads.models.weight_specs import WeightSpecs

SIZES = {"small": {"filters": 32}, "base": {"filters": 64}}
DEPTH = 4  # times the image is halved, and doubled again


def job(
    kind: str, batch_size: int, size: str, filters: int, image_size: int, classes: int, seed: int
) -> Job:
    sizes = {
        "image_size": image_size,
        "classes": classes,
        **size_options(SIZES, size, filters=filters),
    }
    check_divides(str(2**DEPTH), 2**DEPTH, "image_size", image_size)
    inputs, _ = random_images(batch_size, (image_size, image_size, 3), classes, seed)
    _, labels = random_images(batch_size * image_size**2, (1,), classes, seed)
    return Job(
        model=build_model(kind, "unet", seed, model, weight_specs, **sizes),
        optimizer="adam",
        learning_rate=0.0001,
        train_batch=(inputs, labels.reshape(batch_size, image_size, image_size)),
        multiply_adds=weight_specs(**sizes).work,
    )


def weight_specs(image_size: int, filters: int, classes: int) -> WeightSpecs:
    specs, before = WeightSpecs(), 3
    for level in range(DEPTH + 1):
        before = _add_pair(specs, f"down.{level}", before, filters << level, image_size >> level)
    for level in reversed(range(DEPTH)):
        width = filters << level
        specs.transposed_conv(f"wider.{level}", 2, 2 * width, width, (image_size >> level + 1) ** 2)
        _add_pair(specs, f"up.{level}", 2 * width, width, image_size >> level)
    specs.conv("head", 1, filters, classes, image_size**2)
    return specs


def _add_pair(specs: WeightSpecs, name: str, before: int, filters: int, side: int) -> int:
    specs.conv(f"{name}.first", 3, before, filters, side**2)
    specs.conv(f"{name}.second", 3, filters, filters, side**2)
    return filters


def model(image_size: int, filters: int, classes: int) -> Any:
    """As in the paper, but padded, so that the output is as large as the input."""
    import keras
    from keras import layers

    from assay.workloads.models.keras.layers import channel_axis, image_input

    inputs = values = image_input(image_size)
    across = []
    for level in range(DEPTH):
        values = _two_convolutions(values, filters << level)
        across.append(values)
        values = layers.MaxPooling2D(2)(values)
    values = _two_convolutions(values, filters << DEPTH)
    for level in reversed(range(DEPTH)):
        values = layers.Conv2DTranspose(filters << level, 2, strides=2)(values)
        values = layers.Concatenate(axis=channel_axis())([across[level], values])
        values = _two_convolutions(values, filters << level)
    values = layers.Conv2D(classes, 1)(values)
    if channel_axis() == 1:  # the loss is over the last axis
        values = layers.Permute((2, 3, 1))(values)
    return keras.Model(inputs, values, name="unet")


def _two_convolutions(values: Any, filters: int) -> Any:
    from keras import layers

    for _ in range(2):
        values = layers.Conv2D(filters, 3, padding="same", activation="relu")(values)
    return values


PROVIDES = {
    "unet": BuiltWorkload(
        summary="U-Net, padded; small 7,760,130 and base 31,031,810 parameters",
        source="Ronneberger and others (2015)",
        params={
            "batch_size": 8,
            "size": "small",
            "filters": 0,
            "image_size": 256,
            "classes": 2,
            "seed": 0,
        },
        kinds=kinds(job),
        choices={"size": tuple(SIZES)},
    )
}
