"""transformer-encoder: BERT (Devlin and others, 2018) as a classifier of sequences."""

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
    tokens,
)
from assay.workloads.models.weight_specs import WeightSpecs

# small is BERT-small of Turc and others (2019)
SIZES = {
    "small": {"layers": 4, "width": 512, "heads": 8, "vocabulary": 30522},
    "base": {"layers": 12, "width": 768, "heads": 12, "vocabulary": 30522},
}
POSITIONS = 512  # in the table, also for shorter sequences
EPSILON = 1e-12  # of every norm, as in BERT


def job(
    kind: str,
    batch_size: int,
    size: str,
    length: int,
    classes: int,
    dropout: float,
    seed: int,
    **options: int,
) -> Job:
    numbers = size_options(SIZES, size, **options)
    check_divides("heads", numbers["heads"], "width", numbers["width"])
    check_divides("2", 2, "length", length)
    sizes: dict[str, Any] = {"length": length, "classes": classes, "dropout": dropout, **numbers}
    _, labels = random_images(batch_size, (1,), classes, seed)
    return Job(
        model=build_model(kind, "encoder", seed, model, weight_specs, **sizes),
        optimizer="adam",
        learning_rate=0.0001,
        train_batch=(tokens(batch_size, length, numbers["vocabulary"], seed), labels),
        multiply_adds=weight_specs(**sizes).work,
    )


def weight_specs(
    length: int, classes: int, dropout: float, layers: int, width: int, heads: int, vocabulary: int
) -> WeightSpecs:
    specs = WeightSpecs()
    specs.table("embed", vocabulary, width)
    specs.table("positions", max(POSITIONS, length), width)
    specs.table("segments", 2, width)
    specs.layer_norm("norm", width)
    for number in range(layers):
        specs.block(f"blocks.{number}", width, length)
    specs.dense("pool", width, width)
    specs.dense("head", width, classes)
    return specs


def model(
    length: int, classes: int, dropout: float, layers: int, width: int, heads: int, vocabulary: int
) -> Any:
    """Two segments of equal length; norms after each sum, as in BERT."""
    import keras

    from assay.workloads.models.keras.transformer import Block, Rows

    inputs = keras.Input((length,), dtype="int32")
    values = keras.layers.Embedding(vocabulary, width)(inputs)
    values = Rows(2, each=length // 2)(Rows(max(POSITIONS, length))(values))
    values = keras.layers.LayerNormalization(epsilon=EPSILON)(values)
    values = keras.layers.Dropout(dropout)(values)
    for _ in range(layers):
        values = Block(width, heads, norm_first=False, dropout=dropout, epsilon=EPSILON)(values)
    pooled = keras.layers.Dense(width, activation="tanh")(values[:, 0])
    return keras.Model(inputs, keras.layers.Dense(classes)(keras.layers.Dropout(dropout)(pooled)))


PROVIDES = {
    "transformer-encoder": BuiltWorkload(
        pictures=False,
        summary="BERT with a classifier; small 28,764,674 and base 109,483,778 parameters",
        source="Devlin and others (2018); small: Turc and others (2019)",
        params={
            "batch_size": 32,
            "size": "small",
            "layers": 0,
            "width": 0,
            "heads": 0,
            "vocabulary": 0,
            "length": 128,
            "classes": 2,
            "dropout": 0.1,
            "seed": 0,
        },
        kinds=kinds(job),
        choices={"size": tuple(SIZES)},
    )
}
