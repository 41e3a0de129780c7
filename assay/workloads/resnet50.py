"""resnet50: He and others (2015), 50 layers; in Keras in three styles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.core.records import Value
from assay.core.sessions import Job
from assay.workloads.models.model_workload import (
    BuiltWorkload,
    build_model,
    check_at_least,
    kinds,
    parse_counts,
    random_images,
)
from assay.workloads.models.weight_specs import WeightSpecs

FILTERS = (64, 128, 256, 512)  # of the four stages, in the narrow layers of a block
EPSILON, MOMENTUM = 1.001e-5, 0.99  # of every batch norm, as in Keras applications
STYLED = frozenset({"keras"})  # implementations with styles


def job(
    kind: str,
    batch_size: int,
    style: str,
    image_size: int,
    blocks: str,
    narrower: int,
    classes: int,
    seed: int,
) -> Job:
    """`eager` is the functional model without compilation."""
    check_at_least("image_size of resnet50", image_size, 32, "It is halved five times.")
    sizes: dict[str, Any] = {
        "image_size": image_size,
        "blocks": parse_counts("blocks of resnet50", blocks, 4),
        "narrower": narrower,
        "classes": classes,
    }
    return Job(
        model=build_model(kind, "resnet50", seed, _keras(style), weight_specs, **sizes),
        eager=style == "eager",
        optimizer="rmsprop",
        learning_rate=0.001,
        train_batch=random_images(batch_size, (image_size, image_size, 3), classes, seed),
        multiply_adds=weight_specs(**sizes).work,
    )


def block_specs(blocks: Sequence[int], narrower: int) -> list[tuple[int, int, int, bool]]:
    """Of each block: channels before, filters, stride, and whether the input is projected."""
    sizes, before = [], max(1, 64 // narrower)
    for stage, count in enumerate(blocks):
        filters = max(1, FILTERS[stage] // narrower)
        for index in range(count):
            sizes.append((before, filters, 1 if index or not stage else 2, not index))
            before = 4 * filters
    return sizes


def weight_specs(
    image_size: int, blocks: Sequence[int], narrower: int, classes: int
) -> WeightSpecs:
    specs, width = WeightSpecs(), max(1, 64 // narrower)
    side = (image_size - 1) // 2 + 1
    specs.conv("stem", 7, 3, width, side**2)
    specs.batch_norm("stem_norm", width)
    side = (side - 1) // 2 + 1
    for number, (before, filters, stride, projects) in enumerate(block_specs(blocks, narrower)):
        name, side = f"blocks.{number}", -(-side // stride)
        specs.conv(f"{name}.narrow", 1, before, filters, side**2)
        specs.batch_norm(f"{name}.narrow_norm", filters)
        specs.conv(f"{name}.middle", 3, filters, filters, side**2)
        specs.batch_norm(f"{name}.middle_norm", filters)
        if projects:
            specs.conv(f"{name}.around", 1, before, 4 * filters, side**2)
        specs.conv(f"{name}.wide", 1, filters, 4 * filters, side**2)
        if projects:
            specs.batch_norm(f"{name}.around_norm", 4 * filters)
        specs.batch_norm(f"{name}.wide_norm", 4 * filters)
    specs.dense("head", 4 * filters, classes)
    return specs


def _keras(style: str) -> Callable[..., Any]:
    def make(image_size: int, blocks: Sequence[int], narrower: int, classes: int) -> Any:
        from assay.workloads.models.keras import resnet50

        build = resnet50.subclassed_model if style == "subclassed" else resnet50.functional_model
        return build(image_size, blocks, narrower, classes)

    return make


def _only_keras(kind: str, params: Mapping[str, Value]) -> str:
    if kind in STYLED or params["style"] == "functional":
        return ""
    return f"style={params['style']} is a style of Keras models; leave it out for {kind}"


PROVIDES = {
    "resnet50": BuiltWorkload(
        summary="ResNet50 as in Keras applications, in Keras functional, subclassed or eager, "
        "25,636,712 parameters",
        source="keras-benchmarks (2017), resnet50, resnet50_subclass and resnet50_eager",
        params={
            "batch_size": 32,
            "style": "functional",
            "image_size": 224,
            "blocks": "3-4-6-3",  # 3-4-23-3 is ResNet101
            "narrower": 1,
            "classes": 1000,
            "seed": 0,
        },
        kinds=kinds(job),
        choices={"style": ("functional", "subclassed", "eager")},
        refusal=_only_keras,
    )
}
