"""keras-benchmarks of 2017: its flags as cases of assay, its BigQuery row from a result."""

from __future__ import annotations

import uuid
from typing import Any

from assay.backends._options import gpus
from assay.core.errors import NotPossibleError, unknown
from assay.core.records import Result

# old name → (workload with parameters, what the old table called its samples)
MODELS = {
    "mnist_mlp": ("mnist-mlp", "images"),
    "cifar10_cnn": ("cifar10-cnn", "images"),
    "lstm": ("lstm", "text"),
    "gru": ("gru", "text"),
    "resnet50": ("resnet50", "images"),
    "resnet50_eager": ("resnet50:style=eager", "images"),
    "resnet50_subclass": ("resnet50:style=subclassed", "images"),
    "vgg16": ("vgg16:batch_size=8", "images"),
    "xception": ("xception", "images"),
}
MODES = {"cpu_config": "cpu", "gpu_config": "gpu:0", "multi_gpu_config": "auto"}
MOST_GPUS = 4
EPOCHS, EXAMPLES = 4, 1000  # of one fit(); the first epoch builds and compiles, and is left out


def case(model: str, mode: str, engine: str) -> str:
    """The text of the case the old command line meant."""
    if model not in MODELS:
        raise unknown("model of keras-benchmarks", model, MODELS)
    if mode not in MODES:
        raise unknown("mode of keras-benchmarks", mode, MODES)
    options = f"method=fit,epochs={EPOCHS},examples={EXAMPLES},device='{MODES[mode]}'"
    if mode == "multi_gpu_config":
        options += f",devices={_shared_by(gpus())}" + ",compiler=off" * (engine == "tensorflow")
    return f"{MODELS[model][0]}@keras-{engine}:{options}"


def _shared_by(there: int) -> int:
    """The four GPUs of its config.json, or as many as are here and share a batch evenly."""
    if there < 2:
        raise NotPossibleError(
            f"multi_gpu_config asks for several GPUs, and this machine has {there or 'none'}.",
            hint="Use gpu_config or cpu_config; assay scale tries several devices on a CPU.",
        )
    return 4 if there >= MOST_GPUS else 2


def row(result: Result, model: str) -> dict[str, Any]:
    """The row the old tool inserted, with the hardware that was found rather than declared."""
    machine, packages = result.environment.machine, result.environment.packages
    engine = str(result.case.backend).removeprefix("keras-")
    later = [value for part in result.samples if part.phase == "steady" for value in part.values]
    steps = next((part.steps for part in result.samples if part.phase == "steady"), 0)
    device = str(result.facts.get("device", ""))
    on_gpu = device.startswith("gpu")
    return {
        "test_id": uuid.uuid4().int >> 80,
        "test_name": model,
        "test_type": f"tf.keras, {engine}" if engine == "tensorflow" else f"keras, {engine}",
        "recorded_time": result.started,
        "metrics": {
            "total_time": sum(later) * steps,
            "epochs": EPOCHS - 1,
            "batch_size": result.items,
            "sample_type": MODELS[model][1],
        },
        "keras_backend": {"type": engine, "version": _version(packages, engine)},
        "cpu_info": {
            "num_cores": machine.get("cpus", 0),
            "memory": round(float(machine.get("memory", 0)) / 2**30, 1),
            "units": "GiB",
        },
        "platform_info": {
            "type": machine.get("architecture", ""),
            "machine_type": machine.get("cpu", ""),
        },
        "keras_version": packages.get("keras", ""),
        "gpu_info": {"count": int(on_gpu), "platform": device[4:] if on_gpu else ""},
    }


def _version(packages: dict[str, str], engine: str) -> str:
    return next((packages[name] for name in packages if name.startswith(engine)), "")
