"""Load weights into a torch module whose submodules have the names of the weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

# Keras' name of a variable → torch's, where they differ.
_NAMES = {
    "kernel": "weight",
    "embeddings": "weight",
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
    "depthwise_kernel": "depthwise.weight",
    "pointwise_kernel": "pointwise.weight",
}


class Weight(nn.Module):  # type: ignore[misc]
    """A weight without a layer of torch."""

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(shape))


def table(rows: int, width: int) -> nn.Embedding:
    """Without random weights, which on the meta device take seconds."""
    return nn.Embedding.from_pretrained(torch.empty(rows, width), freeze=False)


def load_weights(make: Callable[[], nn.Module], arrays: Mapping[str, Any]) -> nn.Module:
    """Build on the meta device first: torch would draw weights that are then replaced."""
    with torch.device("meta"):
        model = make()
    state = {name: part for name, part in model.state_dict().items() if _is_batch_counter(name)}
    # not zeros_like, which imports symbolic shapes for a tensor on the meta device
    state = {name: torch.zeros(part.shape, dtype=part.dtype) for name, part in state.items()}
    for name, array in arrays.items():
        owner, _, variable = name.rpartition(".")
        tensor = _to_torch_layout(model.get_submodule(owner), variable, torch.from_numpy(array))
        state[f"{owner}.{_NAMES.get(variable, variable)}"] = tensor.contiguous()
    model.load_state_dict(state, assign=True)
    return model


def _is_batch_counter(name: str) -> bool:
    """The counter of a batch norm's batches, which only torch has."""
    return name.endswith("num_batches_tracked")


def _to_torch_layout(module: nn.Module, variable: str, values: torch.Tensor) -> torch.Tensor:
    """In torch's order of axes, in which a depthwise kernel's channels are its outputs."""
    if isinstance(module, nn.Linear) and variable == "kernel":
        return values.reshape(values.shape[-2:]).T  # a 1 x 1 convolution is one too
    if variable.endswith("kernel") and values.ndim == 4:
        depthwise = variable.startswith("depthwise") or getattr(module, "groups", 1) > 1
        return values.permute((2, 3, 0, 1) if depthwise else (3, 2, 0, 1))
    return values
