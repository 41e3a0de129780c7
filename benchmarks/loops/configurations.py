"""What by_hand.py measures: each configuration as a loop written by hand and as a case of assay."""

from __future__ import annotations

from typing import Any, NamedTuple

COMPILED = "precision=bfloat16,data_format=channels_last,compiler=on"
GPT2 = {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50257, "length": 1024}
SMALL = {"layers": 2, "width": 32, "heads": 2, "vocabulary": 100, "length": 32}


class Pace(NamedTuple):
    """How long everything takes."""

    steps: int = 30  # of one sample by hand
    repeats: int = 9
    warmup: float = 3.0  # seconds from the first step
    budget: str = "5s"  # of assay


class Configuration(NamedTuple):
    wish: dict[str, Any]  # what the hand-written loop does
    workload: str  # the same as a case of assay: what, and by which backend
    backend: str


def torch(net: str, workload: str, backend: str, **wish: Any) -> Configuration:
    return Configuration({"frame": "torch", "net": net, **wish}, workload, f"torch:{backend}")


def jax(net: str, workload: str, backend: str = "", **wish: Any) -> Configuration:
    return Configuration(
        {"frame": "jax", "net": net, **wish}, workload, f"jax:{backend}".strip(":")
    )


def keras(net: str, engine: str, workload: str) -> Configuration:
    wish = {"frame": "keras", "net": net, "engine": engine, "policy": "mixed_bfloat16"}
    return Configuration(wish, workload, f"keras-{engine}:precision=bfloat16")


VGG16, RESNET, TRAINED = "vgg16:{pictures}", "resnet50:{pictures}", "transformer-decoder:{text}"
GENERATED = f"{TRAINED},task=generate,{{tokens}}"
CONFIGURATIONS = {
    "gpt2-torch-autocast": torch(
        "gpt2", TRAINED, "precision=bfloat16,compiler=on", autocast=True, compile=True
    ),
    "gpt2-torch-pure": torch(
        "gpt2", TRAINED, "precision=pure-bfloat16,compiler=on", pure=True, compile=True
    ),
    "gpt2-jax": jax("gpt2", TRAINED, "precision=bfloat16", mixed=True),
    "generate-jax": jax("gpt2", GENERATED, "precision=pure-bfloat16", pure=True, generate=True),
    "generate-torch": torch(
        "gpt2",
        GENERATED,
        "precision=pure-bfloat16,cuda_graphs=on",
        pure=True,
        generate=True,
        graph=True,
    ),
    "resnet50-torch-256": torch(
        "resnet50", RESNET, COMPILED, autocast=True, compile=True, batch=256
    ),
    "resnet50-keras-jax-32": keras("resnet50", "jax", RESNET),
    "resnet50-jax-32": jax("resnet50", RESNET, "precision=bfloat16", mixed=True),
    "resnet50-torch-32": torch("resnet50", RESNET, COMPILED, autocast=True, compile=True),
    "torch-float32": torch("vgg16", VGG16, "data_format=channels_first"),
    "torch-tf32": torch(
        "vgg16", VGG16, "precision=tf32,data_format=channels_last", tf32=True, last=True
    ),
    "torch-autocast-compiled": torch(
        "vgg16", VGG16, COMPILED, autocast=True, last=True, compile=True
    ),
    "torch-pure-bfloat16-graph": torch(
        "vgg16",
        VGG16,
        "precision=pure-bfloat16,data_format=channels_last,compiler=on,cuda_graphs=on",
        pure=True,
        last=True,
        compile=True,
        graph=True,
    ),
    "jax-float32": jax("vgg16", VGG16, products="highest"),
    "jax-pure-bfloat16": jax("vgg16", VGG16, "precision=pure-bfloat16", pure=True),
    "keras-jax-bfloat16": keras("vgg16", "jax", VGG16),
    "keras-torch-bfloat16": keras("vgg16", "torch", VGG16),
}
BATCHES = {"vgg16": 16, "resnet50": 32, "gpt2": 8}


def sizes(wish: dict[str, Any], tiny: bool) -> dict[str, int]:
    """What the hand-written loop is given."""
    net = wish["net"]
    batch = 2 if tiny else wish.get("batch", BATCHES[net])
    if net == "gpt2":
        tokens = {"prompt": 4, "generated": 5} if tiny else {"prompt": 32, "generated": 64}
        return {"batch": batch, **(SMALL if tiny else GPT2), **tokens}
    # Keras applications have one width
    narrower = 8 if tiny and wish["frame"] != "keras" else 1
    return {"batch": batch, "image": 32 if tiny else 224, "narrower": narrower}


def case(one: Configuration, tiny: bool) -> str:
    """The same for assay. A tiny one is not compiled by torch, nor captured: that takes minutes."""
    given = sizes(one.wish, tiny)
    narrower = given.get("narrower", 1) if one.wish["net"] == "resnet50" else 1
    workload = one.workload.format(
        pictures=f"batch_size={given['batch']},image_size={given.get('image')}"
        + (f",narrower={narrower}" if narrower > 1 else ""),
        text=",".join(
            f"{'batch_size' if name == 'batch' else name}={value}"
            for name, value in given.items()
            if name not in {"prompt", "generated"}
        ),
        tokens=f"prompt={given.get('prompt')},generated={given.get('generated')}",
    )
    backend = one.backend
    if tiny and backend.startswith("torch"):
        backend = backend.replace(",compiler=on", "").replace(",cuda_graphs=on", "")
    return f"{workload}@{backend}"


def pace(tiny: bool) -> Pace:
    return Pace(steps=2, repeats=3, warmup=0.1, budget="0.5s") if tiny else Pace()
