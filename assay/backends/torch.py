"""PyTorch by itself: eager or compiled, with or without CUDA graphs."""

from __future__ import annotations

from assay.backends import _options
from assay.backends._framework import FrameworkBackend
from assay.contracts import Option
from assay.records import Case

COMPILER = Option(
    default="off",
    choices=("off", "on", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"),
    help="torch.compile; on is its default mode, the others are its modes of that name",
)
CUDA_GRAPHS = Option(
    default="off", choices=("off", "on"), help="capture one whole step and replay it"
)
DATA_FORMAT = Option(
    default="channels_first",
    choices=("channels_first", "channels_last"),
    help="channels_last is torch's memory format of that name; the axes stay as they are",
)


def _refusal(case: Case) -> str:
    if case.options["cuda_graphs"] == "off":
        return ""
    if _options.on_cpu(case):
        return "CUDA graphs need an NVIDIA GPU, and this case runs on the CPU"
    if case.options["compiler"] in ("reduce-overhead", "max-autotune"):
        return (
            f"compiler {case.options['compiler']} makes CUDA graphs itself; with cuda_graphs=on "
            "use compiler on or max-autotune-no-cudagraphs"
        )
    if case.options["precision"] == "float16":
        return "float16's loss scaling asks the host after each step, which no CUDA graph can hold"
    return ""


PROVIDES = {
    "torch": FrameworkBackend(
        name="torch",
        summary="PyTorch by itself",
        own={"compiler": COMPILER, "cuda_graphs": CUDA_GRAPHS, "data_format": DATA_FORMAT},
        refusal=_refusal,
    )
}
