"""transformer-decoder: GPT-2 (Radford and others, 2019), training, or generation with a cache.

Items are tokens in both tasks: throughput is tokens per second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.records import Value
from assay.core.sessions import Job
from assay.workloads.models.model_workload import (
    BuiltWorkload,
    build_model,
    check_at_least,
    check_divides,
    kinds,
    load_implementation,
    size_options,
    tokens,
)
from assay.workloads.models.weight_specs import WeightSpecs

# small is nanoGPT's "baby" model with GPT-2's vocabulary
SIZES = {
    "small": {"layers": 6, "width": 384, "heads": 6, "vocabulary": 50257, "length": 256},
    "base": {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50257, "length": 1024},
}
EPSILON = 1e-5  # of every norm


def job(
    kind: str,
    batch_size: int,
    size: str,
    task: str,
    prompt: int,
    generated: int,
    seed: int,
    **options: int,
) -> Job:
    numbers = size_options(SIZES, size, **options)
    check_divides("heads", numbers["heads"], "width", numbers["width"])
    if task == "train":
        return _training(kind, batch_size, seed, numbers)
    check_at_least("prompt", prompt, 1, "Generation continues a prompt.")
    check_at_least("generated", generated, 1, "A step generates this many tokens.")
    check_at_least(
        "length", numbers["length"], prompt + generated, "It has to hold prompt and generated."
    )
    return _generation(kind, batch_size, prompt, generated, seed, numbers)


def weight_specs(layers: int, width: int, heads: int, vocabulary: int, length: int) -> WeightSpecs:
    specs = WeightSpecs()
    specs.table("embed", vocabulary, width)
    specs.table("positions", length, width)
    for number in range(layers):
        specs.block(f"blocks.{number}", width, length)
    specs.layer_norm("norm", width)
    specs.work += length * width * vocabulary
    return specs


def _training(kind: str, batch_size: int, seed: int, numbers: dict[str, int]) -> Job:
    def keras(**numbers: int) -> Any:
        from assay.workloads.models.keras import decoder

        return decoder.training_model(**numbers)

    length = numbers["length"]
    text = tokens(batch_size, length + 1, numbers["vocabulary"], seed)
    return Job(
        model=build_model(kind, "decoder", seed, keras, weight_specs, **numbers),
        optimizer="adam",
        learning_rate=0.0001,
        train_batch=(text[:, :-1].copy(), text[:, 1:].copy()),
        items=batch_size * length,
        multiply_adds=weight_specs(**numbers).work // length,
    )


def _generation(
    kind: str, batch_size: int, prompt: int, generated: int, seed: int, numbers: dict[str, int]
) -> Job:
    text = tokens(batch_size, prompt + generated, numbers["vocabulary"], seed)
    facts = generation_facts(batch_size, prompt, generated, numbers)
    work = int(facts["prompt_multiply_adds"]) + (generated - 1) * int(facts["token_multiply_adds"])
    model, first = _generators(kind, batch_size, prompt, generated, seed, numbers)
    return Job(
        model=model,
        first=first,
        trains=False,
        loops=True,
        train_batch=(text[:, :prompt].copy(), text[:, prompt:].copy()),
        items=batch_size * generated,
        multiply_adds=work // generated,
        facts=facts,
    )


def _generators(
    kind: str, batch_size: int, prompt: int, generated: int, seed: int, numbers: dict[str, int]
) -> tuple[Any, Any]:
    """A model that generates all tokens, and one of the same weights that stops after the first."""

    def by_keras() -> tuple[Any, Any]:
        from assay.workloads.models.keras import decoder
        from assay.workloads.models.keras.seeded import seeded_model

        model = seeded_model(
            seed, decoder.generation_model, batch_size, prompt, generated, **numbers
        )
        return model, decoder.first(model)

    def by_file() -> tuple[Any, Any]:
        arrays = weight_specs(**numbers).arrays(seed)
        models: tuple[Any, Any] = load_implementation(kind, "decoder").generators(
            arrays, generated, **numbers
        )
        return models

    return {"keras": by_keras}.get(kind, by_file)()


def generation_facts(
    batch_size: int, prompt: int, generated: int, numbers: Mapping[str, int]
) -> dict[str, Value]:
    """Of a row: the work of its prompt and of a token, and the numbers that a token needs. On
    average a token attends to the prompt and to half of the generated tokens."""
    layers, width, vocabulary = (numbers[name] for name in ("layers", "width", "vocabulary"))
    seen = prompt + generated / 2
    dense, head = 12 * width**2, width * vocabulary
    return {
        "batch_size": batch_size,
        "prompt": prompt,
        "generated": generated,
        "prompt_multiply_adds": layers * prompt * (dense + 2 * prompt * width) + head,
        "token_multiply_adds": round(layers * (dense + 2 * seen * width)) + head,
        "token_weights": layers * (dense + 13 * width) + head + 2 * width,
        "token_cache_numbers": round(2 * layers * width * seen),
        "cache_numbers": 2 * layers * width * (prompt + generated),
    }


def _too_long(kind: str, params: Mapping[str, Value]) -> str:
    """Why a row is longer than the table of positions, or ""."""
    length = int(params["length"]) or SIZES[str(params["size"])]["length"]
    whole = int(params["prompt"]) + int(params["generated"])
    if params["task"] != "generate" or whole <= length:
        return ""
    return (
        f"prompt={params['prompt']} and generated={params['generated']} are {whole} tokens, and "
        f"the context of this model holds {length}; generate fewer, or set length={whole}"
    )


PROVIDES = {
    "transformer-decoder": BuiltWorkload(
        pictures=False,
        summary="GPT-2 with a tied head, trained or generating; small 30,044,544 and base "
        "124,439,808 parameters",
        source="Radford and others (2019); small: nanoGPT (2022)",
        params={
            "batch_size": 8,
            "size": "small",
            "layers": 0,
            "width": 0,
            "heads": 0,
            "vocabulary": 0,
            "length": 0,
            "task": "train",
            "prompt": 32,
            "generated": 64,
            "seed": 0,
        },
        kinds=kinds(job),
        choices={"size": tuple(SIZES), "task": ("train", "generate")},
        refusal=_too_long,
    )
}
