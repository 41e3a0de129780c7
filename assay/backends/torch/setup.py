"""Settings of PyTorch before a model is built, for the backends torch and keras-torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode, flop_registry, sdpa_flop_count

from assay.backends import options
from assay.backends.torch import trees
from assay.core.records import Case, Value
from assay.stats.fast_algorithms import convolution_saving, product_saving


def _attention(query: Any, key: Any, value: Any, *_: object, **__: object) -> int:
    return int(sdpa_flop_count(query, key, value))


def _native_attention(values: Any, *more: Any, **__: object) -> int:
    """nn.MultiheadAttention in inference: projections in and out, and the attention."""
    (batch, length, width), (keys, *_) = values, more[0][1:]
    projections = length * width * width * 2 + 2 * keys * width * width
    return int(2 * batch * (projections + 2 * length * keys * width))


def _recurrent_on_cpu(values: Any, kernel: Any, recurrent: Any, *_: object, **__: object) -> int:
    return int(2 * math.prod(values[:-1]) * (math.prod(kernel) + math.prod(recurrent)))


def _recurrent_on_gpu(values: Any, weights: Any, *_: object, **__: object) -> int:
    matrices = sum(math.prod(shape) for shape in weights if len(shape) == 2)
    return int(2 * math.prod(values[:-1]) * matrices)


# operations that torch's counter does not support
_EXTRA_COUNTS = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention,
    torch.ops.aten._native_multi_head_attention: _native_attention,
    torch.ops.aten.mkldnn_rnn_layer: _recurrent_on_cpu,
    torch.ops.aten._cudnn_rnn: _recurrent_on_gpu,
}


def prepare(case: Case) -> None:
    options.check_device(case, f"PyTorch {torch.__version__}", torch.cuda.is_available())
    torch.manual_seed(options.seed(case))
    tf32 = case.options["precision"] == "tf32"
    # torch's default is TF32 for convolutions but not for products; here float32 means float32
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = tf32
    # autotune cuDNN's algorithms, as XLA and TensorFlow do by default
    torch.backends.cudnn.benchmark = True


@contextmanager
def open_devices(case: Case) -> Iterator[None]:
    """Several devices are several processes (`ddp.py`)."""
    yield None


def device() -> torch.device:
    """The first visible GPU, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def facts() -> dict[str, Value]:
    on_gpu = torch.cuda.is_available()
    return {
        "device": f"gpu {torch.cuda.get_device_name()}" if on_gpu else "cpu",
        "threads": torch.get_num_threads(),
        "tf32": torch.backends.cudnn.allow_tf32
        or torch.get_float32_matmul_precision() != "highest",
        "matmul_precision": torch.get_float32_matmul_precision(),
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
    }


class ForwardFacts(NamedTuple):
    """Facts of one forward pass."""

    sample: tuple[tuple[int, ...], Any]  # of the outputs
    dtype: torch.dtype  # of the outputs
    macs: float
    executed: float  # multiply-adds of the best algorithm that is known for each product
    product_dtypes: str


def inspect_forward(forward: Callable[[], Any]) -> ForwardFacts:
    """Multiply-adds by torch's counter, which counts each as two; dtypes of all inputs of products
    and convolutions."""
    with (
        FlopCounterMode(display=False, custom_mapping=_EXTRA_COUNTS) as counter,
        _Products() as products,
    ):
        outputs = forward()
    return ForwardFacts(
        trees.sample_output(outputs),
        trees.dtype(outputs),
        counter.get_total_flops() / 2,
        counter.get_total_flops() / 2 - products.saved,
        " ".join(sorted(products.dtypes)),
    )


class _Products(TorchDispatchMode):  # type: ignore[misc]
    """Records dtypes of every operation that torch's counter of FLOPs knows, and the multiply-adds
    that known algorithms save."""

    def __init__(self) -> None:
        super().__init__()
        self.dtypes: set[str] = set()
        self.saved = 0.0

    def __torch_dispatch__(self, function: Any, _: object, args: Any, kwargs: Any) -> Any:
        kwargs = kwargs or {}
        outputs = function(*args, **kwargs)
        if function.overloadpacket in flop_registry:
            tensors = [part for part in args if isinstance(part, torch.Tensor)]
            self.dtypes |= {name(part.dtype) for part in tensors if part.is_floating_point()}
            count = flop_registry[function.overloadpacket](*args, **kwargs, out_val=outputs) / 2
            self.saved += count * (1 - 1 / _saving(function, tensors))
        return outputs


def _saving(function: Any, tensors: list[torch.Tensor]) -> float:
    """By the sizes of a product's matrices, or of a convolution's kernel."""
    if "convolution" in str(function):
        kernel = tensors[1].shape
        return convolution_saving(kernel[2:], (*kernel[:2], *tensors[0].shape[2:]))
    return product_saving([size for tensor in tensors[-2:] for size in tensor.shape[-2:]])


def name(dtype: object) -> str:
    return str(dtype).removeprefix("torch.")


def wait() -> None:
    """On a CPU every operation has ended when its call returns; wait for the queue of a GPU."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
