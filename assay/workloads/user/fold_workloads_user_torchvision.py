"""torchvision beside a torch that its compiled operators do not fit.

The build on the package index wants CUDA's torch; beside another one `import torchvision` fails
("operator torchvision::nms does not exist"), and with it timm and models of transformers. None of
the classifiers uses those operators, so their names are enough.
"""

from __future__ import annotations

import importlib.util
from importlib import import_module
from typing import Any

_MISSING = "operator torchvision::nms does not exist"
_declared: list[Any] = []  # what is declared lives as long as its library


def load() -> None:
    """Import torchvision, if it is installed."""
    if importlib.util.find_spec("torchvision") is None:
        return
    try:
        import_module("torchvision")
    except RuntimeError as error:
        if _MISSING not in str(error):
            raise
        _declare()
        import_module("torchvision")


def _declare() -> None:
    """The two operators that torchvision describes without asking whether they are there."""
    if not _declared:
        import torch

        library = torch.library.Library("torchvision", "DEF")
        _declared.append(library)
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
