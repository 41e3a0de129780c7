"""The parts of a transformer in Keras (Vaswani and others, 2017): attention, block, positions."""

from __future__ import annotations

from typing import Any

from keras import layers, ops


class Attention(layers.Layer):  # type: ignore[misc]
    """Self-attention with several heads, by the engine's fused kernel if it has one."""

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.width, self.heads, self.causal = width, heads, causal
        self.project, self.out = layers.Dense(3 * width), layers.Dense(width)

    def build(self, shape: Any) -> None:
        self.project.build(shape)
        self.out.build(shape)

    def call(self, values: Any) -> Any:
        return self.attend(values)[0]

    def attend(self, values: Any) -> tuple[Any, Any, Any]:
        """Outputs, keys and values, (batch, length, heads, depth)."""
        query, key, value = self._split_heads(values)
        outputs = ops.dot_product_attention(query, key, value, is_causal=self.causal)
        return self._merge_heads(outputs), key, value

    def attend_one(self, values: Any, keys: Any, cached: Any, at: Any) -> tuple[Any, Any, Any]:
        """Attention of position `at`, whose key and value are added to the cache."""
        query, key, value = self._split_heads(values)
        keys = ops.slice_update(keys, (0, at, 0, 0), key)
        cached = ops.slice_update(cached, (0, at, 0, 0), value)
        mask = ops.arange(keys.shape[1]) <= at
        outputs = ops.dot_product_attention(query, keys, cached, mask=mask[None, None, None, :])
        return self._merge_heads(outputs), keys, cached

    def _split_heads(self, values: Any) -> list[Any]:
        split = (-1, values.shape[1], 3, self.heads, self.width // self.heads)
        return list(ops.unstack(ops.reshape(self.project(values), split), 3, axis=2))

    def _merge_heads(self, values: Any) -> Any:
        return self.out(ops.reshape(values, (-1, values.shape[1], self.width)))


class Block(layers.Layer):  # type: ignore[misc]
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
        self.width, self.norm_first = width, norm_first
        self.attention = Attention(width, heads, causal)
        self.norms = [layers.LayerNormalization(epsilon=epsilon) for _ in range(2)]
        self.expand, self.shrink = layers.Dense(4 * width), layers.Dense(width)
        self.drop = layers.Dropout(dropout)

    def build(self, shape: Any) -> None:
        for layer in (self.attention, *self.norms, self.expand):
            layer.build(shape)
        self.shrink.build((*shape[:-1], 4 * self.width))

    def call(self, values: Any, training: bool = False) -> Any:
        if self.norm_first:
            values = values + self.drop(self.attention(self.norms[0](values)), training=training)
            return values + self.drop(self._dense(self.norms[1](values)), training=training)
        branch = self.drop(self.attention(values), training=training)
        values = self.norms[0](values + branch)
        return self.norms[1](values + self.drop(self._dense(values), training=training))

    def attend(self, values: Any) -> tuple[Any, Any, Any]:
        """As `call`, with the keys and values."""
        attended, keys, cached = self.attention.attend(self.norms[0](values))
        return self._rest(values, attended), keys, cached

    def attend_one(self, values: Any, keys: Any, cached: Any, at: Any) -> tuple[Any, Any, Any]:
        attended, keys, cached = self.attention.attend_one(self.norms[0](values), keys, cached, at)
        return self._rest(values, attended), keys, cached

    def _rest(self, values: Any, attended: Any) -> Any:
        values = values + attended
        return values + self._dense(self.norms[1](values))

    def _dense(self, values: Any) -> Any:
        return self.shrink(ops.gelu(self.expand(values), approximate=False))


class Rows(layers.Layer):  # type: ignore[misc]
    """A learned table added along the sequence, each row to `each` positions in turn."""

    def __init__(self, rows: int, each: int = 1) -> None:
        super().__init__()
        self.rows, self.each = rows, each

    def build(self, shape: Any) -> None:
        self.table = self.add_weight(shape=(self.rows, shape[-1]), name="embeddings")

    def call(self, values: Any) -> Any:
        table = ops.repeat(self.table, self.each, axis=0) if self.each > 1 else self.table
        return values + table[: values.shape[1]]


class ClassToken(layers.Layer):  # type: ignore[misc]
    """One learned token before all others."""

    def build(self, shape: Any) -> None:
        self.token = self.add_weight(shape=(1, 1, shape[-1]), name="embeddings")

    def call(self, values: Any) -> Any:
        # broadcast_to would need the size of the batch, which a symbolic tensor does not know
        first = ops.zeros_like(values[:, :1]) + self.token
        return ops.concatenate([first, values], axis=1)
