"""GPT-2 in PyTorch: trained with Adam, or generating with a static cache and a graph a token."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from loops.torch_step import DEVICE, prepare, stepped, wait


def make(wish: dict[str, Any], batch: int, **sizes: int) -> Any:
    prepare(wish)
    prompt, generated = sizes.pop("prompt"), sizes.pop("generated")
    model = GPT2(**sizes).to(DEVICE)
    if wish.get("pure"):
        model = model.bfloat16()
    if wish.get("generate"):
        return _generating(wish, model.eval(), batch, prompt, generated, sizes["vocabulary"])
    text = torch.randint(0, sizes["vocabulary"], (batch, sizes["length"] + 1), device=DEVICE)
    tokens, labels = text[:, :-1].contiguous(), text[:, 1:].flatten()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, eps=1e-7, fused=DEVICE == "cuda")

    def loss_of() -> Any:
        return functional.cross_entropy(model(tokens).flatten(0, 1), labels)

    return stepped(wish, model, loss_of, optimizer)


class GPT2(nn.Module):
    def __init__(self, layers: int, width: int, heads: int, vocabulary: int, length: int) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.apply(_initialize)

    def forward(self, tokens: Any) -> Any:
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return functional.linear(self.norm(x), self.tokens.weight)


def _initialize(module: nn.Module) -> None:
    """As GPT-2's. Norms keep their ones: products of numbers near 0 may take less power, and a GPU
    at its limit of power would be faster for it."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def split(self, x: Any) -> Any:
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).split(width, dim=2)
        shape = (batch, length, self.heads, width // self.heads)
        return [part.view(shape).transpose(1, 2) for part in parts]

    def forward(self, x: Any) -> Any:
        query, key, value = self.split(x)
        found = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.rest(x, found)

    def cached(self, x: Any, cache: Any, at: Any, mask: Any) -> Any:
        query, key, value = self.split(x)
        keys, values = cache
        keys.index_copy_(2, at, key)
        values.index_copy_(2, at, value)
        if mask is None:
            found = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            found = functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
        return self.rest(x, found)

    def rest(self, x: Any, found: Any) -> Any:
        x = x + self.out(found.transpose(1, 2).flatten(2))
        return x + self.narrow(functional.gelu(self.wide(self.norm2(x))))


def _generating(
    wish: dict[str, Any], model: Any, batch: int, prompt: int, generated: int, vocabulary: int
) -> Any:
    given = torch.randint(0, vocabulary, (batch, prompt), device=DEVICE)
    block, dtype = model.blocks[0], model.tokens.weight.dtype
    room, depth = prompt + generated, model.tokens.embedding_dim // block.heads
    shape = (2, batch, block.heads, room, depth)
    caches = [torch.zeros(shape, dtype=dtype, device=DEVICE) for _ in model.blocks]
    places, at = torch.arange(room, device=DEVICE), torch.zeros(1, dtype=torch.long, device=DEVICE)
    token, made = given[:, :1].clone(), given.new_zeros(batch, generated)

    def run(x: Any, where: Any, mask: Any) -> Any:
        x = model.tokens(x) + model.positions(where)
        for one, cache in zip(model.blocks, caches, strict=True):
            x = one.cached(x, cache, where, mask)
        return functional.linear(model.norm(x[:, -1:]), model.tokens.weight).argmax(-1)

    def prefill() -> None:
        token.copy_(run(given, places[:prompt], None))
        at.fill_(prompt)
        made[:, :1] = token

    def decode() -> None:
        token.copy_(run(token, at, (places <= at)[None, None, None]))
        at.add_(1)
        made.index_copy_(1, at - prompt, token)

    if wish.get("compile"):
        prefill, decode = torch.compile(prefill), torch.compile(decode)
    with torch.inference_mode():
        one_more = _captured(prefill, decode) if wish.get("graph") else decode

    def step() -> Any:
        with torch.inference_mode():
            prefill()
            for _ in range(generated - 1):
                one_more()
        return made

    return step, wait


def _captured(prefill: Any, decode: Any) -> Any:
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            prefill()
            decode()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        decode()
    return graph.replay
