"""A workload as plain data: summary, parameters, and a builder for each implementation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.core.records import Value
from assay.core.sessions import Builder
from assay.workloads.models.weight_specs import WeightSpecs


class BuiltWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """Fulfils the Workload contract by its fields."""

    summary: str
    source: str
    params: Mapping[str, Value]  # 0 in a workload with `size`: the value of the size
    kinds: Mapping[str, Builder]
    choices: Mapping[str, tuple[str, ...]] = {}  # of parameters that take no other values
    version: str = "1"
    pictures: bool = True
    refusal: Callable[[str, Mapping[str, Value]], str] = lambda kind, params: ""

    def refuses(self, kind: str, params: Mapping[str, Value]) -> str:
        return self.refusal(kind, params)


def kinds(job: Callable[..., Any], *arguments: str) -> dict[str, Builder]:
    """A builder for each implementation of a net; `job` gets its kind."""
    return {kind: partial(job, kind, *arguments) for kind in ("keras", "torch", "jax")}


def build_model(
    kind: str,
    net: str,
    seed: int,
    keras: Callable[..., Any],
    specs: Callable[..., WeightSpecs],
    **sizes: object,
) -> Any:
    """A net with seeded weights: by the function for Keras, or by the framework's file."""

    def by_keras() -> Any:
        from assay.workloads.models.keras.seeded import seeded_model

        return seeded_model(seed, keras, **sizes)

    def by_file() -> Any:
        return load_implementation(kind, net).model(specs(**sizes).arrays(seed), **sizes)

    return {"keras": by_keras}.get(kind, by_file)()


def load_implementation(kind: str, net: str) -> Any:
    """The module of a framework's implementation of a net."""
    return import_module(f"assay.workloads.models.{kind}.{net}")


def size_options(
    sizes: Mapping[str, Mapping[str, int]], size: str, **options: int
) -> dict[str, int]:
    """The numbers of a size, replaced by options that are not 0."""
    return {**sizes[size], **{key: value for key, value in options.items() if value}}


def parse_counts(name: str, text: str, how_many: int) -> tuple[int, ...]:
    """`3-4-6-3` → four numbers."""
    parts = text.split("-")
    if len(parts) != how_many or not all(part.isdecimal() and int(part) for part in parts):
        raise UsageError(
            f"{name} is '{text}', but has to be {how_many} numbers joined by -.",
            hint=f"Write it as {'-'.join('3' * how_many)}.",
        )
    return tuple(map(int, parts))


def check_at_least(name: str, value: int, smallest: int, why: str) -> None:
    if value < smallest:
        raise UsageError(f"{name} is {value}, but has to be {smallest} or more.", hint=why)


def check_divides(name: str, value: int, whole_name: str, whole: int) -> None:
    if whole % value:
        raise UsageError(
            f"{whole_name} is {whole}, which {name}={value} does not divide.",
            hint=f"Choose {name} so that {whole_name} is a multiple of it.",
        )


def random_images(size: int, shape: tuple[int, ...], classes: int, seed: int) -> tuple[Any, Any]:
    """Images or vectors in [-1, 1) and labels. Never zeros, which need less power."""
    import numpy as np

    random = np.random.default_rng([seed, 1])
    inputs = random.random((size, *shape), dtype=np.float32)
    inputs *= 2
    inputs -= 1
    return inputs, random.integers(0, classes, size).astype(np.int32)


def tokens(size: int, length: int, vocabulary: int, seed: int) -> Any:
    """Rows of uniformly random tokens."""
    import numpy as np

    random = np.random.default_rng([seed, 1])
    return random.integers(0, vocabulary, (size, length)).astype(np.int32)
