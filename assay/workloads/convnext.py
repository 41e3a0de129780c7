"""convnext: Liu and others (2022), a convolutional network in the manner of transformers."""

from __future__ import annotations

from typing import Any

from assay.core.sessions import Job
from assay.workloads.models.model_workload import (
    BuiltWorkload,
    build_model,
    check_at_least,
    kinds,
    random_images,
    size_options,
)
from assay.workloads.models.weight_specs import WeightSpecs

# deep: blocks of the third stage (others have three); width: of the first (each doubles it)
SIZES = {
    "tiny": {"deep": 9, "width": 96},
    "small": {"deep": 27, "width": 96},
    "base": {"deep": 27, "width": 128},
}
EPSILON = 1e-6  # of every norm


def job(
    kind: str, batch_size: int, size: str, image_size: int, classes: int, seed: int, **options: int
) -> Job:
    sizes = {"image_size": image_size, "classes": classes, **size_options(SIZES, size, **options)}
    check_at_least("image_size of convnext", image_size, 32, "It is halved five times.")
    return Job(
        model=build_model(kind, "convnext", seed, model, weight_specs, **sizes),
        optimizer="adam",
        learning_rate=0.0001,
        train_batch=random_images(batch_size, (image_size, image_size, 3), classes, seed),
        multiply_adds=weight_specs(**sizes).work,
    )


def stages(deep: int, width: int) -> list[tuple[int, int, int]]:
    """Of each: the width before it (0 before the first), its own, and the number of blocks."""
    own = [width << stage for stage in range(4)]
    return list(zip((0, *own), own, (3, 3, deep, 3), strict=False))


def weight_specs(image_size: int, classes: int, deep: int, width: int) -> WeightSpecs:
    specs, side = WeightSpecs(), image_size // 4
    specs.conv("stem", 4, 3, width, side**2)
    specs.layer_norm("stem_norm", width)
    for number, (before, current, count) in enumerate(stages(deep, width)):
        stage = f"stages.{number}"
        if before:
            side //= 2
            specs.layer_norm(f"{stage}.norm", before)
            specs.conv(f"{stage}.shrink", 2, before, current, side**2)
        for index in range(count):
            _add_block(specs, f"{stage}.blocks.{index}", current, side**2)
    specs.layer_norm("norm", current)
    specs.dense("head", current, classes)
    return specs


def _add_block(specs: WeightSpecs, name: str, width: int, places: int) -> None:
    specs.depthwise(f"{name}.across", 7, width, places)
    specs.layer_norm(f"{name}.norm", width)
    specs.conv(f"{name}.expand", 1, width, 4 * width, places)
    specs.conv(f"{name}.shrink", 1, 4 * width, width, places)
    specs.shapes[f"{name}.scale.gamma"] = (width,)


def model(image_size: int, classes: int, deep: int, width: int) -> Any:
    """A stem of 4 x 4 patches, four stages; without stochastic depth."""
    import keras
    from keras import layers

    from assay.workloads.models.keras.layers import image_input

    inputs = image_input(image_size)
    values = _norm(layers.Conv2D(width, 4, strides=4)(inputs))
    for before, own, count in stages(deep, width):
        if before:
            values = layers.Conv2D(own, 2, strides=2)(_norm(values))
        for _ in range(count):
            values = _block(values, own)
    values = _norm(layers.GlobalAveragePooling2D()(values))
    return keras.Model(inputs, layers.Dense(classes)(values), name="convnext")


def _block(values: Any, width: int) -> Any:
    """7 x 7 depthwise, then two dense layers on each pixel, written as 1 x 1 convolutions."""
    from keras import layers

    from assay.workloads.models.keras.layers import LayerScale

    branch = _norm(layers.DepthwiseConv2D(7, padding="same")(values))
    branch = layers.Conv2D(4 * width, 1, activation="gelu")(branch)
    branch = LayerScale()(layers.Conv2D(width, 1)(branch))
    return layers.Add()([values, branch])


def _norm(values: Any) -> Any:
    from keras import layers

    from assay.workloads.models.keras.layers import channel_axis

    norm = layers.LayerNormalization(epsilon=EPSILON)
    if len(values.shape) == 2 or channel_axis() == -1:
        return norm(values)
    # Keras 3.15 on PyTorch only normalizes the last axis
    return layers.Permute((3, 1, 2))(norm(layers.Permute((2, 3, 1))(values)))


PROVIDES = {
    "convnext": BuiltWorkload(
        summary="ConvNeXt; tiny 28,589,128, small 50,223,688 and base 88,591,464 parameters",
        source="Liu and others (2022)",
        params={
            "batch_size": 16,
            "size": "small",
            "deep": 0,
            "width": 0,
            "image_size": 224,
            "classes": 1000,
            "seed": 0,
        },
        kinds=kinds(job),
        choices={"size": tuple(SIZES)},
    )
}
