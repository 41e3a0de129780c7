"""Options that backends share, and checks of devices without a framework."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

from assay.core.contracts import Option
from assay.core.errors import EndingError, UsageError
from assay.core.records import Case, Value
from assay.core.sessions import Job
from assay.core.systems import cpu_count

# Synonyms of on and off.
SWITCH = {
    **dict.fromkeys(("true", "yes", "1", "xla", "jit", "inductor"), "on"),
    **dict.fromkeys(("false", "no", "0", "none", "eager"), "off"),
}
MODE = Option(
    default="train",
    choices=("train", "infer"),
    help="training steps, or forward only",
    synonyms={
        **dict.fromkeys(("inference", "eval", "forward", "predict", "test"), "infer"),
        **dict.fromkeys(("training", "fit"), "train"),
    },
)
DEVICE = Option(
    default="auto",
    choices=("auto", "cpu"),
    pattern=r"gpu:\d+",
    like="gpu:0",
    help="auto takes the first GPU the framework sees, else the CPU",
    synonyms={
        **dict.fromkeys(("gpu", "cuda", "gpu0"), "gpu:0"),
        **{f"cuda:{number}": f"gpu:{number}" for number in range(16)},
    },
)
THREADS = Option(
    default="all",
    choices=("all",),
    pattern=r"[1-9]\d*",
    like="2",
    help="all, or how many CPU threads, 1 or more",
    synonyms=dict.fromkeys(("max", "auto", "-1"), "all"),
)
PYTHON = Option(
    default="",
    choices=("",),
    pattern=r".+",
    like="path/to/venv",
    help="another virtual environment or interpreter",
)
DATA_FORMAT = Option(
    default="channels_last",
    choices=("channels_last", "channels_first"),
    help="the order of an image's axes",
    synonyms={"nhwc": "channels_last", "nchw": "channels_first"},
)
PRECISION = Option(
    default="float32",
    choices=("float32", "tf32", "bfloat16", "float16", "pure-bfloat16"),
    help="bfloat16 and float16 are mixed with float32 weights; pure-bfloat16 has no float32 left",
    synonyms={
        **dict.fromkeys(("fp32", "f32", "single", "full", "float", "32"), "float32"),
        **dict.fromkeys(("fp16", "f16", "half", "mixed_float16", "amp", "16"), "float16"),
        **dict.fromkeys(("bf16", "mixed_bfloat16", "brain"), "bfloat16"),
        "tensorfloat32": "tf32",
    },
)
OPTIMIZER = Option(
    default="own",
    choices=("own", "sgd", "momentum", "rmsprop", "adam"),
    help="own is the workload's",
    synonyms={"default": "own"},
)
INPUTS = Option(
    default="same",
    choices=("same", "fresh", "cold"),
    help="same: every step takes one batch; fresh: a ring of 8 batches, so that no step takes the "
    "inputs of the one before; cold: a ring larger than the last-level cache",
)
INPUTS_REPEAT = Option(
    default="same",
    choices=("same",),
    help="a callable without arguments takes no inputs, so that every step repeats them",
)
COMMON = {
    "mode": MODE,
    "precision": PRECISION,
    "data_format": DATA_FORMAT,
    "optimizer": OPTIMIZER,
    "device": DEVICE,
    "threads": THREADS,
    "python": PYTHON,
    "inputs": INPUTS,
}

# Variables of memory allocators; those that are set are facts of a result.
_ALLOCATORS = (
    "XLA_PYTHON_CLIENT_PREALLOCATE",
    "XLA_PYTHON_CLIENT_ALLOCATOR",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_GPU_ALLOCATOR",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "MALLOC_ARENA_MAX",
    "LD_PRELOAD",
)


def missing_reason(modules: tuple[str, ...], extra: str) -> str:
    """The first module that is not installed, and the command that installs it; or ""."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed here: pip install 'assay-lab[{extra}]'"
    return ""


def refusal(case: Case) -> str:
    """Why no framework can run these options on this machine, or ""."""
    device, threads = str(case.options.get("device", "cpu")), case.options["threads"]
    allowed = cpu_count()
    if device.startswith("gpu:") and int(device[4:]) >= gpus():
        return f"device is {device}, but this machine has {gpus() or 'no'} NVIDIA GPU" + (
            "s" if gpus() > 1 else ""
        )
    if several := inputs_refusal(case):
        return several
    if isinstance(threads, int) and threads > allowed:
        return f"threads is {threads}, but this process may use {allowed} CPUs"
    if case.options.get("precision") == "tf32" and runs_on_cpu(case):
        return "tf32 is a mode of NVIDIA GPUs, and this case runs on the CPU"
    return ""


def inputs_refusal(case: Case) -> str:
    """Why its steps cannot take other inputs than one batch, or ""."""
    chosen = case.options.get("inputs", "same")
    reasons = {
        "devices": "a batch that several devices share stays the same",
        "cuda_graphs": "a CUDA graph reads one batch in place",
        "method": "fit() takes its examples itself",
    }
    usual = {"devices": 1, "cuda_graphs": "off", "method": "step"}
    for name, reason in reasons.items():
        if chosen != "same" and case.options.get(name, usual[name]) != usual[name]:
            return f"inputs is {chosen}, but {reason}: use inputs=same"
    return ""


def runs_on_cpu(case: Case) -> bool:
    """Whether it certainly runs on the CPU; a framework without GPU support does so too."""
    return case.options.get("device", "cpu") == "cpu" or not gpus()


def channels_first_refusal(case: Case) -> str:
    """Of TensorFlow's CPU kernels only oneDNN's support channels first; XLA does too."""
    is_requested = (
        case.options["data_format"] == "channels_first" and case.options["compiler"] == "off"
    )
    if is_requested and runs_on_cpu(case) and os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "0":
        return (
            "TensorFlow's CPU kernels lack channels_first while TF_ENABLE_ONEDNN_OPTS is 0; "
            "unset it, or use channels_last or compiler on"
        )
    return ""


def check_device(case: Case, framework: str, on_gpu: bool) -> None:
    """In the worker: a case for a GPU is not measured on the CPU instead."""
    if on_gpu:
        return
    for name, value in (("device", "gpu"), ("precision", "tf32")):
        if str(case.options[name]).startswith(value):
            raise EndingError(
                "skipped", f"{name} is {case.options[name]}, but {framework} sees no GPU here"
            )


def gpus() -> int:
    """NVIDIA GPUs with device files, whether a framework sees them or not."""
    return len(list(Path("/dev").glob("nvidia[0-9]*")))


def device_variables(case: Case) -> dict[str, str]:
    """Hide devices that the case does not name."""
    device = str(case.options["device"])
    if device == "cpu":
        return {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
    if device.startswith("gpu:"):
        return {"CUDA_VISIBLE_DEVICES": device[4:]}
    return {}


def batch(job: Job, case: Case, channels_first: bool) -> tuple[Any, Any]:
    """The job's batch, with images in the requested layout."""
    if job.train_batch is None:
        raise UsageError(
            f"{case.workload} gave a bare model, whose inputs {case.backend} cannot guess.",
            hint="Return assay.Job(model=…, train_batch=(inputs, targets)).",
        )
    inputs, targets = job.train_batch
    return inputs if job.as_given else to_layout(inputs, channels_first), targets


def check_fixed_layout(job: Job, case: Case) -> None:
    """A model with a fixed layout supports no other."""
    if job.as_given and case.options["data_format"] == "channels_first":
        raise UsageError(
            f"data_format is channels_first, but {case.workload} takes its inputs as they are.",
            hint="Leave data_format out.",
        )


def vary(array: Any, number: int) -> Any:
    """An array of numpy with other values but of the same kind: rows in another order, or elements
    if there is one row, and floating-point values scaled. Number 0: the array itself.

    Values stay in their range, so that tokens stay tokens; signs and zeros stay, too.
    """
    import numpy as np

    if not number or not array.shape:
        return array
    axis = 0 if array.shape[0] > 1 else -1
    rolled = np.roll(array, number, axis)
    return (rolled * scale(number)).astype(array.dtype) if _is_floating(array) else rolled


def scale(number: int) -> float:
    """Of fresh floating-point inputs; exact in bfloat16, and different for 32 batches."""
    return 1 + number % 32 / 128


def _is_floating(array: Any) -> bool:
    return "float" in array.dtype.name  # bfloat16 is no type of numpy's own


def to_layout(inputs: Any, channels_first: bool) -> Any:
    """Convert channels-last images to the requested layout."""
    import numpy as np

    if channels_first and getattr(inputs, "ndim", 0) == 4:  # several inputs are a tuple
        return np.ascontiguousarray(inputs.transpose(0, 3, 1, 2))
    return inputs


def is_training(job: Job, case: Case) -> bool:
    return job.trains and case.options["mode"] == "train"


def items(job: Job) -> int:
    """Items of one step: as the job states, else the rows of its batch."""
    return job.items or len(job.train_batch[1] if job.train_batch else ())


def mode(train: bool) -> str:
    return "train" if train else "infer"


def shape_text(*arrays: Any) -> str:
    """`16x224x224x3`; several are separated by commas."""
    return ", ".join("x".join(str(size) for size in array.shape) for array in arrays)


def optimizer_name(case: Case, own: str) -> str:
    chosen = str(case.options["optimizer"])
    return own if chosen == "own" else chosen


def seed(case: Case) -> int:
    return int(case.params.get("seed", 0))


def facts(case: Case) -> dict[str, Value]:
    """Facts of the process of any backend; the framework may replace some."""
    set_here = (name for name in _ALLOCATORS if os.environ.get(name))
    return {
        "threads": cpu_count(),
        "allocator": " ".join(f"{name}={os.environ[name]}" for name in set_here),
        "precision": case.options.get("precision", "float32"),
        **({"devices": case.options["devices"]} if case.options.get("devices", 1) != 1 else {}),
    }
