"""A bare torch module, and its inputs if they can be inferred."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from assay.core.errors import UsageError
from assay.workloads.user.model import Bare

EXAMPLES = ("example_input_array", "dummy_inputs")  # names in Lightning and transformers
LIKE = "torch.rand(2, 3, 32, 32)"
# Layers that keep the shape of a vector.
_PASSING = (nn.Flatten, nn.Dropout, nn.ReLU, nn.GELU, nn.Tanh, nn.Sigmoid, nn.SiLU, nn.Identity)


def model(bare: Bare, inputs: Any) -> Any:
    if isinstance(bare.model, nn.Module):
        return bare.model
    if bare.itself:
        return _Function(bare.model)
    raise UsageError(
        f"{bare.maker.__name__} gave a {type(bare.model).__name__}, not a torch.nn.Module.",
        hint="Return the module, or an assay.Job.",
    )


def infer_inputs(module: Any, size: int) -> Any:
    """A chain that begins with a linear layer takes vectors; no other shape is certain."""
    first = _first(module) if isinstance(module, nn.Module) else None
    if isinstance(first, nn.Linear):
        random = torch.Generator().manual_seed(0)
        return torch.rand(size, first.in_features, generator=random) * 2 - 1
    return None


def _first(module: nn.Module) -> nn.Module | None:
    """The first layer of a chain, except _PASSING; None if it is no chain."""
    children = list(module.children())
    if not children:
        return module
    if isinstance(module, nn.Sequential):
        rest = [child for child in children if not isinstance(child, _PASSING)]
        return _first(rest[0]) if rest else None
    own = next(module.parameters(recurse=False), None)
    return _first(children[0]) if len(children) == 1 and own is None else None


class _Function(nn.Module):  # type: ignore[misc]
    """A pure function of tensors, as a module without parameters."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self._function = function

    def forward(self, *args: object, **kwargs: object) -> Any:
        return self._function(*args, **kwargs)
