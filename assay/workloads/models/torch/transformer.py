"""The parts of a transformer in PyTorch; the encoder is BERT's, with a classifier."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.nn import functional


class TorchAttention(nn.Module):  # type: ignore[misc]
    """Self-attention with several heads, through torch's fused kernels."""

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, values: Any) -> Any:
        return self.attend(*self.split_heads(values))

    def attend(self, query: Any, key: Any, value: Any) -> Any:
        outputs = functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        return self.merge_heads(outputs)

    def attend_one(self, values: Any, keys: Any, cached: Any, at: Any, mask: Any) -> Any:
        """Attention of position `at`, whose key and value are added to the cache."""
        query, key, value = self.split_heads(values)
        keys.index_copy_(2, at, key)
        cached.index_copy_(2, at, value)
        outputs = functional.scaled_dot_product_attention(query, keys, cached, attn_mask=mask)
        return self.merge_heads(outputs)

    def split_heads(self, values: Any) -> Any:
        """Queries, keys and values, each (batch, heads, length, depth)."""
        parts = self.project(values).unflatten(-1, (3, self.heads, -1))
        return parts.permute(2, 0, 3, 1, 4).unbind(0)

    def merge_heads(self, outputs: Any) -> Any:
        return self.out(outputs.transpose(1, 2).flatten(2))


class TorchBlock(nn.Module):  # type: ignore[misc]
    """Attention, then two dense layers; the norms before them, or after as the first papers did."""

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        causal: bool = False,
        norm_first: bool = True,
        dropout: float = 0.0,
        epsilon: float = 1e-6,
    ) -> None:
        super().__init__()
        self.norm_first, self.dropout = norm_first, dropout
        self.attention = TorchAttention(width, heads, causal)
        self.norms = nn.ModuleList(nn.LayerNorm(width, epsilon) for _ in range(2))
        self.expand, self.shrink = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, values: Any) -> Any:
        if self.norm_first:
            return self.finish_block(values, self._dropout(self.attention(self.norms[0](values))))
        values = self.norms[0](values + self._dropout(self.attention(values)))
        return self.norms[1](values + self._dropout(self._dense(values)))

    def finish_block(self, values: Any, attended: Any) -> Any:
        """The part of a block after the attention, with norms first."""
        values = values + attended
        return values + self._dropout(self._dense(self.norms[1](values)))

    def _dense(self, values: Any) -> Any:
        return self.shrink(functional.gelu(self.expand(values)))

    def _dropout(self, values: Any) -> Any:
        return functional.dropout(values, self.dropout, self.training) if self.dropout else values
