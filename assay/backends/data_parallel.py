"""Several devices for one training step: the option, its checks and variables."""

from __future__ import annotations

import os

from assay.backends import options
from assay.core.contracts import Option
from assay.core.errors import EndingError
from assay.core.records import Case

DEVICES = Option(
    default=1,
    pattern=r"[1-9]\d*",
    like="2",
    help="devices that share each training batch: GPUs, or on a CPU virtual ones or processes",
)


def count(case: Case) -> int:
    return int(case.options.get("devices", 1))


def refusal(case: Case) -> str:
    """Why so many devices cannot share the work of this case, or ""."""
    devices, rows = count(case), case.params.get("batch_size", 0)
    if devices == 1:
        return ""
    if case.options["mode"] != "train":
        return f"devices is {devices}, but several share the work of training only: use mode train"
    if str(case.options["device"]).startswith("gpu:"):
        return f"device names one GPU, but devices is {devices}: leave device out, or use cpu"
    if not options.runs_on_cpu(case) and devices > options.gpus():
        return (
            f"devices is {devices}, but this machine has {options.gpus()} NVIDIA GPU: "
            "use fewer, or device=cpu"
        )
    if isinstance(rows, int) and rows % devices:
        return f"batch_size is {rows}, which {devices} devices cannot share evenly"
    return ""


def compiler_refusal(case: Case) -> str:
    """XLA compiles the step of one device: tf.distribute runs it once for each."""
    if count(case) > 1 and case.options["compiler"] == "on":
        return f"compiler is on, but TensorFlow shares a step by {count(case)} devices without it"
    return ""


def keras_torch_refusal(case: Case) -> str:
    if count(case) > 1:
        return "Keras shares a batch by several devices on JAX and TensorFlow, not yet on torch"
    return ""


def variables(case: Case) -> dict[str, str]:
    """Virtual devices for JAX on a CPU; processes communicate on this machine only."""
    if count(case) == 1:
        return {}
    flags = f"--xla_force_host_platform_device_count={count(case)}"
    alone = {name: "lo" for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")}
    if not options.runs_on_cpu(case):
        return alone
    return {**alone, "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()}


def is_serialized(case: Case) -> bool:
    """Whether a step of JAX has to end before the next one is enqueued: on virtual devices.

    XLA allows 32 computations in flight on a CPU device, counted for each device of a step: at the
    33rd, one waits in its all-reduce for another that cannot start, until XLA ends the process
    (jaxlib 0.10: 32 steps enqueued ahead run, 34 do not).
    """
    return count(case) > 1 and options.runs_on_cpu(case)


def check_seen(case: Case, framework: str, seen: int) -> None:
    """In the worker: the framework may see fewer devices than the machine has."""
    if seen < count(case):
        raise EndingError(
            "skipped", f"devices is {count(case)}, but {framework} sees {seen} of them here"
        )
