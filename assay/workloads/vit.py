"""vit: the vision transformer of Dosovitskiy and others (2020)."""

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

# small is DeiT-S of Touvron and others (2020)
SIZES = {
    "small": {"layers": 12, "width": 384, "heads": 6},
    "base": {"layers": 12, "width": 768, "heads": 12},
}
EPSILON = 1e-6  # of every norm


def job(
    kind: str,
    batch_size: int,
    size: str,
    image_size: int,
    patch: int,
    classes: int,
    seed: int,
    **options: int,
) -> Job:
    numbers = size_options(SIZES, size, **options)
    check_divides("heads", numbers["heads"], "width", numbers["width"])
    check_divides("patch", patch, "image_size", image_size)
    sizes = {"image_size": image_size, "patch": patch, "classes": classes, **numbers}
    return Job(
        model=build_model(kind, "vit", seed, model, weight_specs, **sizes),
        optimizer="adam",
        learning_rate=0.0001,
        train_batch=random_images(batch_size, (image_size, image_size, 3), classes, seed),
        multiply_adds=weight_specs(**sizes).work,
    )


def weight_specs(
    image_size: int, patch: int, classes: int, layers: int, width: int, heads: int
) -> WeightSpecs:
    specs, count = WeightSpecs(), (image_size // patch) ** 2
    specs.conv("patches", patch, 3, width, count)
    specs.table("token", 1, 1, width)
    specs.table("positions", count + 1, width)
    for number in range(layers):
        specs.block(f"blocks.{number}", width, count + 1)
    specs.layer_norm("norm", width)
    specs.dense("head", width, classes)
    return specs


def model(image_size: int, patch: int, classes: int, layers: int, width: int, heads: int) -> Any:
    """Patches and a class token, whose last state is classified."""
    import keras

    from assay.workloads.models.keras.layers import channel_axis, image_input
    from assay.workloads.models.keras.transformer import Block, ClassToken, Rows

    inputs, count = image_input(image_size), (image_size // patch) ** 2
    values = keras.layers.Conv2D(width, patch, strides=patch)(inputs)
    if channel_axis() == 1:
        values = keras.layers.Permute((2, 3, 1))(values)
    values = ClassToken()(keras.layers.Reshape((count, width))(values))
    values = Rows(count + 1)(values)
    for _ in range(layers):
        values = Block(width, heads, epsilon=EPSILON)(values)
    values = keras.layers.LayerNormalization(epsilon=EPSILON)(values)
    return keras.Model(inputs, keras.layers.Dense(classes)(values[:, 0]), name="vit")


PROVIDES = {
    "vit": BuiltWorkload(
        summary="vision transformer, patches of 16; small 22,050,664 and base 86,567,656 "
        "parameters",
        source="Dosovitskiy and others (2020); small: Touvron and others (2020)",
        params={
            "batch_size": 16,
            "size": "small",
            "layers": 0,
            "width": 0,
            "heads": 0,
            "image_size": 224,
            "patch": 16,
            "classes": 1000,
            "seed": 0,
        },
        kinds=kinds(job),
        choices={"size": tuple(SIZES)},
    )
}
