"""xception: Chollet (2017), depthwise separable convolutions with residual connections."""

from __future__ import annotations

from typing import Any

from assay.core.sessions import Job
from assay.workloads.models.model_workload import (
    BuiltWorkload,
    build_model,
    check_at_least,
    kinds,
    random_images,
)
from assay.workloads.models.weight_specs import WeightSpecs

FLOW = (128, 256, 728)  # filters of the entry's three blocks


def job(
    kind: str, batch_size: int, image_size: int, middle: int, narrower: int, classes: int, seed: int
) -> Job:
    check_at_least("image_size of xception", image_size, 32, "It is halved five times.")
    sizes = {
        "image_size": image_size,
        "middle": middle,
        "narrower": narrower,
        "classes": classes,
    }
    return Job(
        model=build_model(kind, "xception", seed, model, weight_specs, **sizes),
        optimizer="rmsprop",
        learning_rate=0.001,
        train_batch=random_images(batch_size, (image_size, image_size, 3), classes, seed),
        multiply_adds=weight_specs(**sizes).work,
    )


def widths(narrower: int, *filters: int) -> list[int]:
    return [max(1, count // narrower) for count in filters]


def weight_specs(image_size: int, middle: int, narrower: int, classes: int) -> WeightSpecs:
    specs, side = WeightSpecs(), (image_size - 3) // 2 + 1
    first, second, core, *last = widths(narrower, 32, 64, 728, 1024, 1536, 2048)
    _add_conv_norm(specs, "stem.0", 3, 3, first, side)
    side -= 2
    _add_conv_norm(specs, "stem.1", 3, first, second, side)
    before = second
    for number, filters in enumerate(widths(narrower, *FLOW)):
        side = _add_downsample(specs, f"entry.{number}", (before, filters, filters), side)
        before = filters
    for block in range(middle):
        for number in range(3):
            _add_separable(specs, f"middle.{block}.{number}", core, core, side)
    side = _add_downsample(specs, "exit", (core, core, last[0]), side)
    for number in range(2):
        _add_separable(specs, f"last.{number}", last[number], last[number + 1], side)
    specs.dense("head", last[2], classes)
    return specs


def _add_conv_norm(
    specs: WeightSpecs, name: str, size: int, before: int, filters: int, side: int
) -> None:
    specs.conv(f"{name}.conv", size, before, filters, side**2, bias=False)
    specs.batch_norm(f"{name}.norm", filters)


def _add_separable(specs: WeightSpecs, name: str, before: int, filters: int, side: int) -> None:
    specs.separable(name, 3, before, filters, side**2)
    specs.batch_norm(f"{name}.norm", filters)


def _add_downsample(
    specs: WeightSpecs, name: str, channels: tuple[int, int, int], side: int
) -> int:
    """Returns the new side. Keras lists the projection by its depth, after the rest."""
    before, first, second = channels
    _add_separable(specs, f"{name}.first", before, first, side)
    _add_separable(specs, f"{name}.second", first, second, side)
    _add_conv_norm(specs, f"{name}.around", 1, before, second, -(-side // 2))
    return -(-side // 2)


def model(image_size: int, middle: int, narrower: int, classes: int) -> Any:
    """Entry, middle and exit flow of the paper's figure 5; `narrower` divides every width."""
    import keras
    from keras import layers

    from assay.workloads.models.keras.layers import image_input

    def width(filters: int) -> int:
        return max(1, filters // narrower)

    inputs = image_input(image_size)
    values = _conv_norm(layers.Conv2D(width(32), 3, strides=2, use_bias=False), inputs)
    values = layers.ReLU()(values)
    values = layers.ReLU()(_conv_norm(layers.Conv2D(width(64), 3, use_bias=False), values))
    values = _downsample(values, width(128), width(128), relu_first=False)
    values = _downsample(values, width(256), width(256))
    values = _downsample(values, width(728), width(728))
    for _ in range(middle):
        shortcut = values
        for _ in range(3):
            values = _separable(layers.ReLU()(values), width(728))
        values = layers.Add()([values, shortcut])
    values = _downsample(values, width(728), width(1024))
    for filters in (1536, 2048):
        values = layers.ReLU()(_separable(values, width(filters)))
    values = layers.GlobalAveragePooling2D()(values)
    return keras.Model(inputs, layers.Dense(classes)(values), name="xception")


def _downsample(values: Any, first: int, second: int, relu_first: bool = True) -> Any:
    """Two separable convolutions and a max pool, with a strided 1x1 shortcut."""
    from keras import layers

    shortcut = layers.Conv2D(second, 1, strides=2, padding="same", use_bias=False)
    shortcut = _conv_norm(shortcut, values)
    if relu_first:
        values = layers.ReLU()(values)
    values = layers.ReLU()(_separable(values, first))
    values = layers.MaxPooling2D(3, strides=2, padding="same")(_separable(values, second))
    return layers.Add()([values, shortcut])


def _separable(values: Any, filters: int) -> Any:
    from keras import layers

    layer = layers.SeparableConv2D(filters, 3, padding="same", use_bias=False)
    return _conv_norm(layer, values)


def _conv_norm(layer: Any, values: Any) -> Any:
    from keras import layers

    from assay.workloads.models.keras.layers import channel_axis

    return layers.BatchNormalization(axis=channel_axis())(layer(values))


PROVIDES = {
    "xception": BuiltWorkload(
        summary="Xception as in Keras applications, 22,910,480 parameters",
        source="keras-benchmarks (2017), xception",
        params={
            "batch_size": 16,
            "image_size": 299,
            "middle": 8,  # blocks of three separable convolutions
            "narrower": 1,
            "classes": 1000,
            "seed": 0,
        },
        kinds=kinds(job),
    )
}
