"""resnet50: He and others (2015), 50 layers, in three styles of Keras."""

from __future__ import annotations

from assay.core.sessions import Job
from assay.workloads.built import BuiltWorkload, at_least, counts, pictures


def job(
    batch_size: int,
    style: str,
    image_size: int,
    blocks: str,
    narrower: int,
    classes: int,
    seed: int,
) -> Job:
    """`eager` is the functional model, its operations dispatched one by one, uncompiled."""
    from assay.workloads import _keras_resnet50
    from assay.workloads._keras_seeded import seeded

    at_least("image_size of resnet50", image_size, 32, "It is halved five times.")
    per_stage = counts("blocks of resnet50", blocks, 4)
    make = _keras_resnet50.subclassed if style == "subclassed" else _keras_resnet50.functional
    return Job(
        model=seeded(seed, make, image_size, per_stage, narrower, classes),
        eager=style == "eager",
        optimizer="rmsprop",
        learning_rate=0.001,
        train_batch=pictures(batch_size, (image_size, image_size, 3), classes, seed),
    )


PROVIDES = {
    "resnet50": BuiltWorkload(
        summary="ResNet50 as in Keras applications, functional, subclassed or eager, "
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
        kinds={"keras": job},
        choices={"style": ("functional", "subclassed", "eager")},
    )
}
