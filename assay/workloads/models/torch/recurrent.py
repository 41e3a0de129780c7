"""LSTM and GRU in PyTorch: torch's own layers, which are cuDNN's on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import nn

from assay.workloads.models.torch.load import load_weights


def model(
    arrays: Mapping[str, Any], cell: str, units: int, length: int, features: int
) -> nn.Module:
    network = load_weights(
        lambda: Recurrent(cell, units, features), _rename_weights(arrays, cell, units)
    )
    if cell == "LSTM":
        # torch has two biases, Keras one: the second stays zero
        network.recurrent.bias_hh_l0.requires_grad_(False)
    return network


class Recurrent(nn.Module):  # type: ignore[misc]
    def __init__(self, cell: str, units: int, features: int) -> None:
        super().__init__()
        self.recurrent = getattr(nn, cell)(features, units, batch_first=True)
        self.head = nn.Linear(units, features)

    def forward(self, values: Any) -> Any:
        return self.head(self.recurrent(values)[0][:, -1])


def _rename_weights(arrays: Mapping[str, Any], cell: str, units: int) -> dict[str, Any]:
    """By torch's names. Its GRU has reset before update, Keras' has update before reset."""
    order = (0, 1, 2, 3) if cell == "LSTM" else (1, 0, 2)

    def gates(array: Any) -> Any:
        parts = [array[..., gate * units : (gate + 1) * units] for gate in order]
        return np.concatenate(parts, -1)

    bias = gates(arrays["recurrent.bias"])
    both = bias if bias.ndim == 2 else (bias, np.zeros_like(bias))
    return {
        "recurrent.weight_ih_l0": gates(arrays["recurrent.kernel"]).T,
        "recurrent.weight_hh_l0": gates(arrays["recurrent.recurrent_kernel"]).T,
        "recurrent.bias_ih_l0": both[0],
        "recurrent.bias_hh_l0": both[1],
        **{name: array for name, array in arrays.items() if name.startswith("head.")},
    }
