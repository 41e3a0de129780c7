"""GPT-2 in Keras: one network, and two models of it, for training and generation."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

from assay.workloads.models.keras.transformer import Block, Rows
from assay.workloads.transformer_decoder import EPSILON


def training_model(**numbers: int) -> Any:
    """Tokens → the logits of each next token."""
    inputs = keras.Input((numbers["length"],), dtype="int32")
    return keras.Model(inputs, Decoder(**numbers)(inputs))


def generation_model(batch_size: int, prompt: int, generated: int, **numbers: int) -> Any:
    """A prompt → the tokens that follow it, by greedy decoding."""
    inputs = keras.Input(batch_shape=(batch_size, prompt), dtype="int32")
    return keras.Model(inputs, Generator(generated, Decoder(**numbers))(inputs))


def first(model: Any) -> Any:
    """The generating model with the same weights that stops after the first token."""
    (generator,) = (layer for layer in model.layers if isinstance(layer, Generator))
    inputs = keras.Input(batch_shape=model.input_shape, dtype="int32")
    return keras.Model(inputs, Generator(1, generator.decoder)(inputs))


class Decoder(layers.Layer):  # type: ignore[misc]
    def __init__(self, layers: int, width: int, heads: int, vocabulary: int, length: int) -> None:
        super().__init__()
        self.width = width
        self.embed = keras.layers.Embedding(vocabulary, width)
        self.positions = Rows(length)
        self.blocks = [Block(width, heads, causal=True, epsilon=EPSILON) for _ in range(layers)]
        self.norm = keras.layers.LayerNormalization(epsilon=EPSILON)

    def build(self, shape: Any) -> None:
        self.embed.build(shape)
        for layer in (self.positions, *self.blocks, self.norm):
            layer.build((*shape, self.width))

    def call(self, tokens: Any) -> Any:
        values = self.positions(self.embed(tokens))
        for block in self.blocks:
            values = block(values)
        return self.logits(values)

    def logits(self, values: Any) -> Any:
        """The head is the transposed embedding."""
        values = self.norm(values)
        return ops.matmul(values, ops.cast(ops.transpose(self.embed.embeddings), values.dtype))

    def read(self, tokens: Any, room: int) -> tuple[Any, Any]:
        """Logits after the last token, and keys and values of all, padded by `room`."""
        values, cache = self.positions(self.embed(tokens)), []
        for block in self.blocks:
            values, *keys_values = block.attend(values)
            cache.append(
                [ops.pad(part, ((0, 0), (0, room), (0, 0), (0, 0))) for part in keys_values]
            )
        return self.logits(values[:, -1:]), cache

    def read_one(self, token: Any, cache: Any, at: Any) -> tuple[Any, Any]:
        """The next token, at position `at`."""
        values, left = self.embed(token), []
        values = values + ops.cast(ops.take(self.positions.table, at, axis=0), values.dtype)
        for block, (keys, cached_values) in zip(self.blocks, cache, strict=True):
            values, keys, cached_values = block.attend_one(values, keys, cached_values, at)
            left.append([keys, cached_values])
        return self.logits(values), left


class Generator(layers.Layer):  # type: ignore[misc]
    """Reads the prompt in one pass, then each generated token in a loop."""

    def __init__(self, generated: int, decoder: Decoder) -> None:
        super().__init__()
        self.generated, self.decoder = generated, decoder

    def build(self, shape: Any) -> None:
        if not self.decoder.built:
            self.decoder.build(shape)

    def call(self, prompt: Any) -> Any:
        start = prompt.shape[1]
        logits, cache = self.decoder.read(prompt, self.generated - 1)
        token = _greedy_tokens(logits)
        tokens = ops.pad(token, ((0, 0), (0, self.generated - 1)))

        def body(index: Any, state: Any) -> Any:
            tokens, token, cache = state
            logits, cache = self.decoder.read_one(token, cache, start + index - 1)
            token = _greedy_tokens(logits)
            return ops.slice_update(tokens, (0, index), token), token, cache

        # compiled into the step on JAX and TensorFlow; Keras on PyTorch runs it in Python
        return ops.fori_loop(1, self.generated, body, (tokens, token, cache))[0]

    def compute_output_spec(self, prompt: Any) -> Any:
        return keras.KerasTensor((prompt.shape[0], self.generated), dtype="int32")


def _greedy_tokens(logits: Any) -> Any:
    return ops.cast(ops.argmax(logits, axis=-1), "int32")
