"""Layers of one's own are opened: captured by the operations of their call, or refused."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.native import reference
from assay.native.capture import answers, capture
from tests.native.test_capture import check

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
    judged = answers(model, graph)

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
    judged = answers(model, graph)

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


def refused(keras, layer, match, shape=(4, 6), hint=""):
    with pytest.raises(UsageError, match=match) as caught:
        capture(model_of(keras, layer, shape))
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "call, told",
    [
        (lambda ops: lambda self, x: x.mean() * x, "AttributeError"),
        (lambda ops: lambda self, x: np.tanh(x), "TypeError|AttributeError|ValueError"),
        (lambda ops: lambda self, x: self.w[0] * x, "ValueError"),
        (lambda ops: lambda self, x: ops.broadcast_to(self.w[0], (x.shape[0], 6)), "TypeError"),
    ],
)
def test_a_call_that_is_not_of_keras_ops_is_refused(call, told, keras):
    layer = own(keras, call(keras.ops), [(6,)])
    layer.build((None, 4, 6))
    layer.compute_output_spec = lambda x: keras.KerasTensor(
        x.shape
    )  # as on an engine where it works

    refused(
        keras,
        layer,
        rf"The layer 'own' is a Own whose call does not take symbolic tensors \(({told}): ",
        hint="Write the call in keras.ops",
    )


def test_a_branch_on_values_is_refused(keras):
    layer = own(keras, lambda self, x: x if keras.ops.sum(x) > 0 else -x)
    layer.compute_output_spec = lambda x: keras.KerasTensor(x.shape)

    with pytest.raises(UsageError, match="'own"):
        capture(model_of(keras, layer))


def test_what_is_not_known_within_a_layer_is_told_with_both_names(keras):
    def call(self, x):
        return self.inner(keras.ops.cumsum(x, axis=1))

    layer = own(keras, call, inner=keras.layers.Dense(6))
    refused(keras, layer, "'own/cumsum' is a Cumsum of keras.ops, which cannot be captured")

    memory = own(keras, lambda self, x: self.inner(x), inner=keras.layers.LSTM(3, name="memory"))
    refused(keras, memory, "The layer 'own/memory' is a LSTM, which cannot be captured")


def test_random_numbers_are_refused(keras):
    def call(self, x):
        return x + keras.random.normal((6,), seed=self.seeds)

    layer = own(keras, call, seeds=keras.random.SeedGenerator(1))
    refused(keras, layer, "'own' is a Own that changes the variable 'seed_generator_state'")


def test_random_numbers_of_training_are_not(keras):
    def call(self, x, training=False):
        return x + keras.random.normal((6,), seed=self.seeds) if training else x

    check(model_of(keras, own(keras, call, seeds=keras.random.SeedGenerator(1))))


def test_a_variable_that_a_call_changes_is_refused(keras):
    def call(self, x):
        self.w[0].assign(self.w[0] + 1)
        return x * self.w[0]

    layer = own(keras, call, [(6,)])
    refused(keras, layer, "'own' is a Own that changes the variable 'w' in inference")
    assert np.ptp(keras.ops.convert_to_numpy(layer.w[0].value)) < 10  # and it is as it was


def counting(self, x):
    self.calls += 1
    return x * self.calls


def remembering(self, x):
    self.seen.append(x)
    return x + sum(self.seen[:1])


def making(self, x):
    import keras

    return keras.layers.Dense(6)(x)


@pytest.mark.parametrize(
    "call",
    [counting, lambda self, x: x + np.random.default_rng().normal(size=6), making],
    ids=["a counter", "random numbers of numpy", "weights made anew"],
)
def test_a_call_that_is_another_each_time_is_refused(call, keras):
    layer = own(keras, call, calls=0)
    layer.compute_output_spec = lambda x: keras.KerasTensor(x.shape)

    refused(keras, layer, "'own' is a Own that computes something else each time it is called")


def test_a_tensor_of_an_earlier_call_is_refused(keras):
    layer = own(keras, remembering)
    object.__setattr__(layer, "seen", [keras.Input((4, 6))])
    layer.compute_output_spec = lambda x: keras.KerasTensor(x.shape)

    refused(keras, layer, "'own/…' is reading a tensor of another call")


def test_a_mask_that_is_handed_on_is_refused(keras):
    class Masks(keras.layers.Layer):
        supports_masking = True

        def call(self, x):
            return x * 2

        def compute_mask(self, x, mask=None):
            return keras.ops.any(keras.ops.not_equal(x, 0.0), axis=-1)

    refused(keras, Masks(name="own"), "'own' is handing on a mask")


@pytest.mark.parametrize("method", ["__call__", "symbolic_call", "quantized_call"])
def test_a_layer_that_replaces_how_keras_calls_it_is_refused(method, keras):
    layer = own(keras, lambda self, x: x * 2)
    model = model_of(keras, layer)
    setattr(type(layer), method, lambda self, x: x)

    with pytest.raises(UsageError, match=f"'own' is a Own with a {method} of its own"):
        capture(model)


def test_what_is_given_to_an_own_layer_has_to_be_tensors(keras):
    layer = own(keras, lambda self, x, power=1, training=False: x**power)
    image = keras.Input((4,))

    with pytest.raises(UsageError, match="The layer 'own' is called with 3,"):
        capture(keras.Model(image, layer(image, power=3)))
    with pytest.raises(UsageError, match="The layer 'own' is called with training=True"):
        capture(keras.Model(image, layer(image, training=True)))


def test_another_precision_of_an_own_layer_is_refused(keras):
    def call(self, x):
        return keras.ops.cast(x, "float32")

    layer = own(keras, call)
    layer.dtype_policy = keras.DTypePolicy("mixed_bfloat16")

    refused(keras, layer, "'own' is a Own that computes in bfloat16")


@pytest.mark.parametrize(
    "call, what",
    [
        (lambda ops, x: ops.dot_product_attention(x, x, x, bias=np.zeros((1, 1, 4, 4))), "a bias"),
        (
            lambda ops, x: ops.dot_product_attention(x, x, x, mask=np.ones((2, 1, 4, 4))),
            "a mask of",
        ),
        (lambda ops, x: ops.dot_product_attention(x, x[:, :, :1], x[:, :, :1]), "other heads"),
    ],
)
def test_attention_of_other_kinds_is_refused(call, what, keras):
    layer = own(keras, lambda self, x: call(keras.ops, x))
    layer.compute_output_spec = lambda x: keras.KerasTensor(x.shape)

    refused(keras, layer, what, shape=(4, 2, 3))
