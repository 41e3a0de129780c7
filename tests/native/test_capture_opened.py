"""Layers of one's own are opened: captured by the operations of their call."""

from __future__ import annotations

import numpy as np
import pytest

from assay.native import reference
from assay.native.capture import capture, reference_outputs
from tests.native.capture.test_capture import check

pytestmark = pytest.mark.real("keras", "jax")


def own(keras, call, weights=(), name="own", **held):
    """A layer that computes `call(self, x, …)`, with weights of these shapes and what it holds."""

    class Own(keras.layers.Layer):
        def build(self, *shapes):
            self.w = [self.add_weight(shape=shape, name="w") for shape in weights]

    Own.call = call
    layer = Own(name=name)
    for key, value in held.items():
        setattr(layer, key, value)
    return layer


def model_of(keras, layer, shape=(4, 6)):
    image = keras.Input(shape)
    return keras.Model(image, layer(image))


def test_a_subclassed_model_is_captured_by_the_shape_it_was_built_with(keras):
    class Subclassed(keras.Model):
        def __init__(self):
            super().__init__(name="mine")
            self.dense = keras.layers.Dense(3, "relu")

        def call(self, values, training=False):
            return self.dense(values) * 2.0 + 1.0

    model = Subclassed()
    model(np.ones((2, 6), np.float32))

    graph = capture(model)
    told = reference_outputs(model, graph)
    (found,) = reference.outputs(graph, *told.first().inputs)
    assert graph.name == "mine"
    assert np.allclose(found, told.first().outputs[0], rtol=0, atol=1e-6)


def block(keras, heads=2, width=6, **attention):
    """Attention and two dense layers, each in a layer of its own."""
    ops = keras.ops

    def attend(self, values):
        split = ops.reshape(self.project(values), (-1, values.shape[1], 3, heads, width // heads))
        found = ops.dot_product_attention(*ops.unstack(split, 3, axis=2), **attention)
        return self.out(ops.reshape(found, (-1, values.shape[1], width)))

    def call(self, values, training=False):
        values = values + self.drop(self.attention(self.norm(values)), training=training)
        return values + self.shrink(ops.gelu(self.expand(values), approximate=False))

    layers = keras.layers
    inner = {"project": layers.Dense(3 * width), "out": layers.Dense(width)}
    parts = {"norm": layers.LayerNormalization(), "drop": layers.Dropout(0.5)}
    parts |= {"expand": layers.Dense(12), "shrink": layers.Dense(width)}
    return own(keras, call, attention=own(keras, attend, name="attention", **inner), **parts)


CALLS = {
    "a factor": (lambda ops: lambda self, x: x * self.w[0], [(6,)]),
    "a factor before it": (lambda ops: lambda self, x: ops.multiply(self.w[0], x), [(6,)]),
    "a part of a table": (lambda ops: lambda self, x: x + self.w[0][: x.shape[1]], [(9, 6)]),
    "a product": (lambda ops: lambda self, x: ops.matmul(x, self.w[0]), [(6, 5)]),
    "a known product": (lambda ops: lambda self, x: x @ ops.transpose(self.w[0]), [(5, 6)]),
    "its own weights": (lambda ops: lambda self, x: ops.matmul(self.w[0], x), [(3, 4)]),
    "a token": (
        lambda ops: lambda self, x: ops.concatenate([ops.zeros_like(x[:, :1]) + self.w[0], x], 1),
        [(1, 1, 6)],
    ),
    "a repeated table": (
        lambda ops: lambda self, x: x + ops.repeat(self.w[0], 2, axis=0),
        [(2, 6)],
    ),
    "new axes": (lambda ops: lambda self, x: x[:, None, 1:, ::2][..., 0, :], []),
    "stacked": (lambda ops: lambda self, x: ops.stack([x, ops.sin(x)], axis=2), []),
    "unstacked": (lambda ops: lambda self, x: ops.add(*ops.unstack(x[:, :2], axis=1)), []),
    "known rows": (lambda ops: lambda self, x: ops.take(x, [3, 0, 1, 2, 0, -1], axis=2), []),
    "one row": (lambda ops: lambda self, x: ops.take(x, 2, axis=1), []),
    "a cast": (lambda ops: lambda self, x: ops.cast(ops.cast(x, "float32") * 2, x.dtype), []),
    "the same": (lambda ops: lambda self, x: x, []),
    "training": (lambda ops: lambda self, x, training=False: x * (2 if training else 3), []),
    "training by default": (
        lambda ops: lambda self, x, training=None: 5 * x if training else x,
        [],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_computes_what_it_does_in_keras(name, keras):
    call, weights = CALLS[name]

    check(model_of(keras, own(keras, call(keras.ops), weights)))


@pytest.mark.parametrize(
    "attention",
    [{}, {"is_causal": True}, {"scale": 0.3}, {"mask": np.tri(4, dtype=bool)[None, None] ^ True}],
)
def test_attention_within_layers_within_a_layer_is_captured(attention, keras):
    graph = check(model_of(keras, block(keras, **attention)))

    assert all(node.output.startswith("own/") for node in graph.nodes)


def test_a_closed_row_of_a_mask_is_an_average(keras):
    mask = np.zeros((1, 1, 4, 4), bool)

    check(model_of(keras, block(keras, mask=mask)))


def test_attention_between_two_tensors_is_captured(keras):
    ops = keras.ops
    split = lambda x: ops.reshape(x, (-1, x.shape[1], 2, 3))  # noqa: E731
    layer = own(
        keras,
        lambda self, x, y: ops.dot_product_attention(split(x), split(y), split(y), is_causal=True),
    )
    first, second = keras.Input((4, 6)), keras.Input((7, 6))

    check(keras.Model([first, second], layer(first, second)))


@pytest.mark.parametrize("way", ["positions", "a list", "a keyword", "twice the same"])
def test_two_inputs_may_be_given_in_any_way(way, keras):
    first, second = keras.Input((4,)), keras.Input((4,))
    one = own(keras, lambda self, x, y=None: x - 2 * y)
    pair = own(keras, lambda self, both: both[0] - 2 * both[1])
    made = {
        "positions": lambda: one(first, second),
        "a list": lambda: pair([first, second]),
        "a keyword": lambda: one(first, y=second),
        "twice the same": lambda: one(first, first) + second,
    }[way]()

    check(keras.Model([first, second], made))


def test_several_outputs_are_captured(keras):
    image = keras.Input((4,))
    halves = own(keras, lambda self, x: {"a": x[:, :2], "b": x[:, 2:]})(image)

    check(keras.Model(image, halves["b"] - 3 * halves["a"]))


def test_a_layer_used_twice_shares_its_weights(keras):
    layer = own(keras, lambda self, x: self.inner(x) * self.w[0], [(6,)])
    layer.inner = keras.layers.Dense(6, name="inner")
    image = keras.Input((6,))

    graph = check(keras.Model(image, layer(layer(image))))

    assert sorted(graph.constants) == [
        "own/inner/bias",
        "own/inner/kernel",
        "own/multiply/known/values",
    ]


def test_models_within_a_layer_are_walked(keras):
    inner = keras.Sequential([keras.layers.Dense(5, activation="relu"), keras.layers.Dense(6)])

    class Subclassed(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(6)

        def call(self, inputs):
            return 2 * self.dense(inputs)

    layer = own(
        keras, lambda self, x: x + self.inner(x) - self.sub(x), inner=inner, sub=Subclassed()
    )
    check(model_of(keras, layer))


def test_pictures_stay_turned(keras):
    layer = own(keras, lambda self, x: x * self.w[0], [(3,)])

    graph = check(
        keras.Sequential(
            [keras.Input((5, 4, 3)), keras.layers.Conv2D(3, 1), layer, keras.layers.ReLU()]
        )
    )

    assert (
        sum("turned" in node.output for node in graph.nodes) == 2
    )  # where it comes in and goes out


def test_a_head_that_is_the_embedding_is_one_constant(keras):
    def call(self, tokens):
        return keras.ops.matmul(self.embed(tokens), keras.ops.transpose(self.embed.embeddings))

    layer = own(keras, call, embed=keras.layers.Embedding(9, 4, name="embed"))
    tokens = keras.Input((3,), dtype="int32")
    model = keras.Model(tokens, layer(tokens))
    graph = capture(model)
    judged = reference_outputs(model, graph)

    (found,) = reference.outputs(graph, *judged.inputs)
    assert np.abs(found - judged.outputs[0]).max() < 1e-5
    assert list(graph.constants) == ["own/embed/embeddings"]


def test_rows_are_looked_up_by_whole_numbers_that_are_computed(keras):
    ops = keras.ops
    tokens = keras.Input((3,), dtype="int32")
    table = own(
        keras, lambda self, rows: ops.take(self.w[0], rows[:, 1:] * 2 + 1, axis=0), [(9, 4)]
    )
    moved = keras.layers.Embedding(9, 4)(tokens + ops.arange(3) * 3)
    model = keras.Model(tokens, ops.sum(moved, 1) + ops.sum(table(tokens), 1))
    graph = capture(model)
    judged = reference_outputs(model, graph)

    (found,) = reference.outputs(graph, *judged.inputs)
    assert np.abs(found - judged.outputs[0]).max() < 1e-5


def test_causal_attention_of_keras_is_captured(keras):
    rows = keras.Input((5, 6))
    made = keras.layers.MultiHeadAttention(2, 3)(rows, rows, use_causal_mask=True)

    check(keras.Model(rows, made))


def test_two_captures_are_one_graph_and_leave_the_model_as_it_was(keras):
    layer = block(keras)
    model = model_of(keras, layer)
    before = [len(each._inbound_nodes) for each in layer._flatten_layers()]

    first, second = capture(model), capture(model)

    assert [node.output for node in first.nodes] == [node.output for node in second.nodes]
    assert [len(each._inbound_nodes) for each in layer._flatten_layers()] == before
