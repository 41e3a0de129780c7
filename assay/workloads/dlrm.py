"""dlrm: the recommendation model of Naumov and others (2019), mostly embeddings."""

from __future__ import annotations

import itertools
from typing import Any

from assay.core.sessions import Job
from assay.workloads.models.model_workload import BuiltWorkload, build_model, kinds, size_options
from assay.workloads.models.weight_specs import WeightSpecs

NUMBERS, TABLES = 13, 26  # features of a row of the Criteo data sets, by kind

# small has the layers of the paper's Criteo Kaggle model, base those of MLPerf; both have fewer
# rows in each table than the data sets need (base there: up to 40 million).
SIZES = {"small": {"rows": 10_000, "depth": 16}, "base": {"rows": 40_000, "depth": 128}}
BOTTOM = {"small": (512, 256, 64), "base": (512, 256)}
TOP = {"small": (512, 256), "base": (1024, 1024, 512, 256)}


def job(kind: str, batch_size: int, size: str, rows: int, depth: int, seed: int) -> Job:
    sizes: dict[str, Any] = {**size_options(SIZES, size, rows=rows, depth=depth)}
    sizes |= {"bottom": BOTTOM[size], "top": TOP[size]}
    return Job(
        model=build_model(kind, "dlrm", seed, model, weight_specs, **sizes),
        loss="binary-cross-entropy",
        optimizer="sgd",
        learning_rate=0.1,
        train_batch=batch(batch_size, sizes["rows"], seed),
        multiply_adds=weight_specs(**sizes).work,
    )


def weight_specs(
    rows: int, depth: int, bottom: tuple[int, ...], top: tuple[int, ...]
) -> WeightSpecs:
    specs = WeightSpecs()
    _add_chain(specs, "bottom", (NUMBERS, *bottom, depth))
    specs.table("embed", TABLES * rows, depth)
    specs.work += (TABLES + 1) ** 2 * depth
    _add_chain(specs, "top", (depth + len(pair_indices()), *top, 1))
    return specs


def _add_chain(specs: WeightSpecs, name: str, widths: tuple[int, ...]) -> None:
    for number, (before, units) in enumerate(itertools.pairwise(widths)):
        specs.dense(f"{name}.{number}", before, units)


def pair_indices() -> list[int]:
    """Indices of products of different vectors in the flattened matrix of all products."""
    count = TABLES + 1
    return [row * count + column for row in range(count) for column in range(row)]


def model(rows: int, depth: int, bottom: tuple[int, ...], top: tuple[int, ...]) -> Any:
    """Pairwise products of the numbers' vector and every table's; the logit of a click."""
    import keras
    from keras import layers, ops

    numbers = keras.Input((NUMBERS,))
    places = keras.Input((TABLES,), dtype="int32")
    dense = numbers
    for units in (*bottom, depth):
        dense = layers.Dense(units, activation="relu")(dense)
    # one table for all features, as in fused embeddings: each feature has its own rows
    looked_up = layers.Embedding(TABLES * rows, depth)(places + ops.arange(TABLES) * rows)
    vectors = ops.concatenate([dense[:, None], looked_up], axis=1)
    products = ops.matmul(vectors, ops.transpose(vectors, (0, 2, 1)))
    flat = ops.take(ops.reshape(products, (-1, (TABLES + 1) ** 2)), pair_indices(), axis=1)
    values = ops.concatenate([dense, flat], axis=1)
    for units in top:
        values = layers.Dense(units, activation="relu")(values)
    return keras.Model([numbers, places], layers.Dense(1)(values), name="dlrm")


def batch(size: int, rows: int, seed: int) -> tuple[Any, Any]:
    import numpy as np

    random = np.random.default_rng([seed, 1])
    numbers = random.uniform(-1, 1, (size, NUMBERS)).astype(np.float32)
    places = random.integers(0, rows, (size, TABLES)).astype(np.int32)
    return (numbers, places), random.integers(0, 2, (size, 1)).astype(np.float32)


PROVIDES = {
    "dlrm": BuiltWorkload(
        pictures=False,
        summary="recommendation, 26 tables of embeddings; small 4,635,985 and base "
        "135,488,897 parameters",
        source="Naumov and others (2019); base: MLPerf, with fewer rows",
        params={"batch_size": 128, "size": "small", "rows": 0, "depth": 0, "seed": 0},
        kinds=kinds(job),
        choices={"size": tuple(SIZES)},
    )
}
