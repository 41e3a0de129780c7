"""lstm and gru: the recurrent networks of keras-benchmarks, one layer and a dense one."""

from __future__ import annotations

from typing import Any

from assay.core.sessions import Job
from assay.workloads.models.model_workload import BuiltWorkload, build_model, kinds, random_images
from assay.workloads.models.weight_specs import WeightSpecs

PARAMS = {"batch_size": 32, "units": 128, "length": 40, "features": 60, "seed": 0}
GATES = {"LSTM": 4, "GRU": 3}


def job(
    kind: str, cell: str, batch_size: int, units: int, length: int, features: int, seed: int
) -> Job:
    """Text generation as in Keras' example: `length` characters in, the next one out."""
    sizes: dict[str, Any] = {"cell": cell, "units": units, "length": length, "features": features}
    return Job(
        model=build_model(kind, "recurrent", seed, model, weight_specs, **sizes),
        optimizer="rmsprop",
        learning_rate=0.01,
        train_batch=random_images(batch_size, (length, features), features, seed),
        multiply_adds=weight_specs(**sizes).work,
    )


def weight_specs(cell: str, units: int, length: int, features: int) -> WeightSpecs:
    specs, gates = WeightSpecs(), GATES[cell]
    # Keras' GRU has an offset for the input and one for the state
    bias = (gates * units,) if cell == "LSTM" else (2, gates * units)
    specs.recurrent("recurrent", features, gates, bias, length)
    specs.dense("head", units, features)
    return specs


def model(cell: str, units: int, length: int, features: int) -> Any:
    import keras
    from keras import layers

    recurrent = getattr(layers, cell)(units)
    return keras.Sequential([keras.Input((length, features)), recurrent, layers.Dense(features)])


PROVIDES = {
    "lstm": BuiltWorkload(
        pictures=False,
        summary="one LSTM layer of 128 units over 40 steps of 60 features, 104,508 parameters",
        source="keras-benchmarks (2017), lstm",
        params=PARAMS,
        kinds=kinds(job, "LSTM"),
    ),
    # There the number of units was the batch size, by mistake: 32 units at a batch of 32. Here
    # it is a separate parameter, so results of the two are not comparable.
    "gru": BuiltWorkload(
        pictures=False,
        summary="one GRU layer of 128 units over 40 steps of 60 features, 80,700 parameters",
        source="keras-benchmarks (2017), gru; its units no longer follow the batch size",
        params=PARAMS,
        kinds=kinds(job, "GRU"),
    ),
}
