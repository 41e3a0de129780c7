"""Multiply-adds of what torch's own counter does not know."""

from __future__ import annotations

import pytest


@pytest.mark.real("torch")
def test_attention_in_one_operation_counts_as_its_products():
    import torch

    from assay.backends.torch import setup

    layer = torch.nn.MultiheadAttention(16, 4, batch_first=True).eval()
    values = torch.rand(2, 5, 16)

    with torch.no_grad():
        found = setup.inspect_forward(lambda: layer(values, values, values)[0])

    assert found.macs == 2 * (4 * 5 * 16 * 16 + 2 * 5 * 5 * 16)
