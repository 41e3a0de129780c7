"""What PyTorch is told before a model is built, for Keras on torch and for torch alone."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.utils.flop_counter import FlopCounterMode

from assay.backends import _options
from assay.records import Case, Value


def prepare(case: Case) -> None:
    _options.check_device(case, f"PyTorch {torch.__version__}", torch.cuda.is_available())
    torch.manual_seed(_options.seed(case))
    tf32 = case.options["precision"] == "tf32"
    # torch's own default is TF32 for convolutions and not for products: float32 here means float32
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = tf32
    # XLA and TensorFlow try cuDNN's algorithms by default; torch does when told
    torch.backends.cudnn.benchmark = True


def device() -> torch.device:
    """The first GPU that `world` left visible, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def facts() -> dict[str, Value]:
    on_gpu = torch.cuda.is_available()
    return {
        "device": f"gpu {torch.cuda.get_device_name()}" if on_gpu else "cpu",
        "threads": torch.get_num_threads(),
        "tf32": torch.backends.cudnn.allow_tf32,
        "matmul_precision": torch.get_float32_matmul_precision(),
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
    }


def macs(forward: Callable[[], object]) -> float:
    """Multiply-adds of a forward pass by torch's own counter, which counts each as two."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        forward()
    return float(counter.get_total_flops()) / 2


def wait() -> None:
    """On a CPU every operation has ended when its call returns; a GPU's queue is waited for."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
