"""transformer-decoder: GPT-2 (Radford and others, 2019), trained, or generating with a cache.

Items are tokens in both tasks: throughput is tokens a second, and a step that generates 64 tokens
in 32 ms takes 0.5 ms for each.
"""

from __future__ import annotations

from assay.core.sessions import Job
from assay.workloads.built import BuiltWorkload, at_least, divides, sized, tokens

# small is nanoGPT's "baby" model with GPT-2's vocabulary
SIZES = {
    "small": {"layers": 6, "width": 384, "heads": 6, "vocabulary": 50257, "length": 256},
    "base": {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50257, "length": 1024},
}


def job(
    batch_size: int, size: str, task: str, prompt: int, generated: int, seed: int, **given: int
) -> Job:
    numbers = sized(SIZES, size, **given)
    divides("heads", numbers["heads"], "width", numbers["width"])
    if task == "train":
        return _training(batch_size, seed, numbers)
    at_least("prompt", prompt, 1, "A model goes on from something.")
    at_least("generated", generated, 1, "That is how many tokens a step makes.")
    at_least(
        "length", numbers["length"], prompt + generated, "It has to hold prompt and generated."
    )
    return _generating(batch_size, prompt, generated, seed, numbers)


def _training(batch_size: int, seed: int, numbers: dict[str, int]) -> Job:
    from assay.workloads import _keras_decoder
    from assay.workloads._keras_seeded import seeded

    length = numbers["length"]
    text = tokens(batch_size, length + 1, numbers["vocabulary"], seed)
    return Job(
        model=seeded(seed, _keras_decoder.training, **numbers),
        optimizer="adam",
        learning_rate=0.0001,
        train_batch=(text[:, :-1].copy(), text[:, 1:].copy()),
        items=batch_size * length,
    )


def _generating(
    batch_size: int, prompt: int, generated: int, seed: int, numbers: dict[str, int]
) -> Job:
    from assay.workloads import _keras_decoder
    from assay.workloads._keras_seeded import seeded

    text = tokens(batch_size, prompt + generated, numbers["vocabulary"], seed)
    return Job(
        model=seeded(seed, _keras_decoder.generating, batch_size, prompt, generated, **numbers),
        trains=False,
        train_batch=(text[:, :prompt].copy(), text[:, prompt:].copy()),
        items=batch_size * generated,
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
        kinds={"keras": job},
        choices={"size": tuple(SIZES), "task": ("train", "generate")},
    )
}
