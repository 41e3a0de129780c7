"""GPT-2 in PyTorch: training, and generation with a cache of keys and values in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from assay.workloads.models.torch.load import load_weights, table
from assay.workloads.models.torch.transformer import TorchBlock
from assay.workloads.transformer_decoder import EPSILON

ALIGNED = 8  # fused attention needs rows of its mask aligned to this


def model(arrays: Mapping[str, Any], **numbers: int) -> nn.Module:
    """Tokens → the logits of each next token."""
    return load_weights(lambda: TorchDecoder(**numbers), arrays)


def generators(arrays: Mapping[str, Any], generated: int, **numbers: int) -> tuple[nn.Module, None]:
    """A prompt → the tokens that follow it, by greedy decoding, one by one; so no other model is
    needed for the first."""
    return load_weights(lambda: TorchGenerator(generated, **numbers), arrays), None


class TorchDecoder(nn.Module):  # type: ignore[misc]
    def __init__(self, layers: int, width: int, heads: int, vocabulary: int, length: int) -> None:
        super().__init__()
        self.embed, self.positions = table(vocabulary, width), table(length, width)
        self.blocks = nn.ModuleList(
            TorchBlock(width, heads, causal=True, epsilon=EPSILON) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width, EPSILON)

    def forward(self, tokens: Any) -> Any:
        values = self.embed(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            values = block(values)
        return self.logits(values)

    def logits(self, values: Any) -> Any:
        """The head is the transposed embedding."""
        return functional.linear(self.norm(values), self.embed.weight)


class TorchGenerator(TorchDecoder):
    """Its state stays in place, so that one token can be captured and replayed."""

    def __init__(self, generated: int, **numbers: int) -> None:
        super().__init__(**numbers)
        self.generated, self.heads = generated, numbers["heads"]

    def start(self, prompt: Any, dtype: Any) -> None:
        """Allocate the cache for prompts of this shape, in this dtype."""
        batch, self.prompt = prompt.shape
        room = -(-(self.prompt + self.generated) // ALIGNED) * ALIGNED
        depth, device = self.embed.weight.shape[1] // self.heads, prompt.device
        shape = (2, batch, self.heads, room, depth)
        self.cache = [torch.zeros(shape, dtype=dtype, device=device) for _ in self.blocks]
        self.places = torch.arange(room, device=device)
        self.at = torch.zeros(1, dtype=torch.int64, device=device)
        self.token = torch.zeros((batch, 1), dtype=torch.int32, device=device)
        self.made = torch.zeros((batch, self.generated), dtype=torch.int32, device=device)

    def forward(self, prompt: Any) -> Any:
        self.prefill(prompt)
        for _ in range(1, self.generated):
            self.decode()
        return self.made

    def prefill(self, prompt: Any) -> None:
        """Read the prompt in one pass; the first token follows from its last."""
        values = self.embed(prompt) + self.positions.weight[: self.prompt]
        for block, cache in zip(self.blocks, self.cache, strict=True):
            query, key, value = block.attention.split_heads(block.norms[0](values))
            cache[0, :, :, : self.prompt] = key
            cache[1, :, :, : self.prompt] = value
            values = block.finish_block(values, block.attention.attend(query, key, value))
        self.token.copy_(self.logits(values[:, -1:]).argmax(-1))
        self.at.fill_(self.prompt)
        self.made[:, :1] = self.token

    def decode(self) -> None:
        """Read the last token and generate one more."""
        values = self.embed(self.token) + self.positions(self.at)
        mask = (self.places <= self.at)[None, None, None]
        for block, cache in zip(self.blocks, self.cache, strict=True):
            normed = block.norms[0](values)
            attended = block.attention.attend_one(normed, cache[0], cache[1], self.at, mask)
            values = block.finish_block(values, attended)
        self.token.copy_(self.logits(values).argmax(-1))
        self.at.add_(1)
        self.made.index_copy_(1, self.at - self.prompt, self.token)
