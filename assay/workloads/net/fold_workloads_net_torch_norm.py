"""Batch norm with an offset and no scale in torch, in single operations or in its fused one."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from assay.workloads.net.layers import EPSILON, MOMENTUM, Norm


class TorchBatchNorm(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, channels: int, norm: Norm) -> None:
        super().__init__()
        self._norm = norm
        self.offset = torch.nn.Parameter(torch.zeros(channels))
        # cuDNN's fused kernel wants a scale; as a buffer it is none of the parameters
        self.register_buffer("scale", torch.ones(channels))
        self.register_buffer("mean", torch.zeros(channels) if norm.running else None)
        self.register_buffer("variance", torch.ones(channels) if norm.running else None)

    def forward(self, values: Any) -> Any:  # noqa: ANN401 (tensors)
        by_batch = self.training or not self._norm.running
        if self._norm.fused:
            return functional.batch_norm(
                values,
                self.mean,
                self.variance,
                self.scale,
                self.offset,
                training=by_batch,
                momentum=1 - MOMENTUM,
                eps=EPSILON,
            )
        exact = values.float()
        mean, variance = self._of_batch(exact) if by_batch else (self.mean, self.variance)
        wide = (-1, 1, 1)
        found = (exact - mean.view(wide)) * torch.rsqrt(variance.view(wide) + EPSILON)
        return (found + self.offset.view(wide)).to(values.dtype)

    def _of_batch(self, values: Any) -> tuple[Any, Any]:  # noqa: ANN401
        variance, mean = torch.var_mean(values, (0, 2, 3), correction=0)
        if self.training and self._norm.running:
            with torch.no_grad():
                self.mean.lerp_(mean.to(self.mean.dtype), 1 - MOMENTUM)
                self.variance.lerp_(variance.to(self.variance.dtype), 1 - MOMENTUM)
        return mean, variance
