"""Layers and operations beyond those of plain images, as Keras computes them: by the reference,
before and after the passes, by ONNX Runtime, and by a program."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.native import reference
from assay.native.agreement import distance
from assay.native.capture import capture, reference_outputs
from assay.native.passes.pipeline import optimize
from tests.native.by_others import by_onnxruntime
from tests.native.many import build_many, by_library, by_program

pytestmark = pytest.mark.real("compiler", "keras", "jax", "onnxruntime")

NEAR = 1e-5
ACTIVATIONS = ("gelu", "silu", "elu", "selu", "softplus", "hard_silu", "sigmoid", "mish")
PICTURE, ROWS, ITEM = (5, 6, 3), (6, 8), (7,)

# Name: shapes of the inputs, and what is made of them; k is keras.layers, o is keras.ops.
NETS = {
    "dot product": (
        ((6, 2, 4), (9, 2, 4), (9, 2, 4)),
        lambda k, o, x, y, z: o.dot_product_attention(x, y, z, is_causal=True, scale=0.3),
    ),
    "masked": (
        ((6, 2, 4),),
        lambda k, o, x: o.dot_product_attention(x, x, x, mask=np.eye(6, dtype=bool)[None, None]),
    ),
    "causal": ((ROWS,), lambda k, o, x: k.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True)),
    "of an item": ((ITEM,), lambda k, o, x: x @ np.linspace(-1, 1, 21).reshape(7, 3)),
    "token": ((ROWS,), lambda k, o, x: o.concatenate([o.zeros_like(x[:, :1]) + 0.5, x], axis=1)),
    "stacked": ((ROWS,), lambda k, o, x: o.stack(o.unstack(x * 2.0, axis=1)[::-1], axis=-1)),
    "taken": ((ROWS,), lambda k, o, x: o.take(x, [0, 2, 4, 1, 1, -1], axis=1)[:, None]),
    "normalization": ((PICTURE,), lambda k, o, x: k.Normalization(-1, [0.1, 0, 0.3], [1, 2, 3])(x)),
    "inverted": ((ITEM,), lambda k, o, x: k.Normalization(None, 0.3, 2, invert=True)(x)),
    "layer norm": (((4, 5, 19),), lambda k, o, x: k.LayerNormalization()(x)),
    "of a vector": ((ITEM,), lambda k, o, x: k.LayerNormalization()(x)),
    "of rows": ((ROWS,), lambda k, o, x: k.LayerNormalization(axis=[1, 2])(x)),
    "of some axes": ((PICTURE,), lambda k, o, x: k.LayerNormalization([1, 3], center=False)(x)),
    "rms": (((6, 37),), lambda k, o, x: k.RMSNormalization()(x)),
    "group norm": (((4, 5, 6),), lambda k, o, x: k.GroupNormalization(3)(x)),
    "cropping": ((PICTURE,), lambda k, o, x: k.Cropping2D(((1, 2), (0, 3)))(x)),
    "scalars": ((PICTURE,), lambda k, o, x: (3.0 - x) * 2.0 / (x * x + 1.0) + x**2.0),
    "known numbers": ((PICTURE,), lambda k, o, x: x * np.arange(3) + np.ones((6, 1))),
    "scaled": ((PICTURE,), lambda k, o, x: k.Conv2D(4, 3)(x) * 2.0 + np.arange(4)),
    "same": ((PICTURE,), lambda k, o, x: k.Conv2DTranspose(4, 3, 2, "same")(x)),
    "valid": ((PICTURE,), lambda k, o, x: k.Conv2DTranspose(4, (2, 5), (3, 1))(x)),
    "even": (((5, 6, 9),), lambda k, o, x: k.Conv2DTranspose(4, 4, padding="same")(x)),
    "window below stride": ((PICTURE,), lambda k, o, x: k.Conv2DTranspose(2, 1, 3, "same")(x)),
    "slices": ((ROWS,), lambda k, o, x: x[:, 1:6:2, ::-1]),
    "one row": ((ROWS,), lambda k, o, x: x[:, 2]),
    "split": ((ROWS,), lambda k, o, x: k.Concatenate(1)(o.split(x, [3, 5], axis=2)[::2][:1] * 2)),
    "product": ((ROWS,), lambda k, o, x: o.matmul(x, o.transpose(x, (0, 2, 1)))),
    "products": (((3, 8, 6),), lambda k, o, x: o.matmul(x, o.transpose(x, (0, 1, 3, 2)))),
    "known matrix": ((ROWS,), lambda k, o, x: o.matmul(x, np.ones((8, 5)) / 3)),
    "attention": ((ROWS,), lambda k, o, x: k.MultiHeadAttention(2, 5)(x, x)),
    "of others": (
        (ROWS, (4, 7)),
        lambda k, o, x, y: k.MultiHeadAttention(2, 5, use_bias=False)(x, y),
    ),
    "average": ((ROWS,), lambda k, o, x: k.Average()([x, x * 2.0, o.tanh(x)])),
    "means": ((PICTURE,), lambda k, o, x: o.mean(x, axis=(1, 3))),
    "maxima": ((PICTURE,), lambda k, o, x: o.max(x, axis=-1, keepdims=True)),
    "softmax": (((6, 8, 33),), lambda k, o, x: o.softmax(x, axis=-1)),
    "two of each": (
        (PICTURE, ITEM),
        lambda k, o, x, y: [k.Conv2D(3, 2)(x), k.Dense(2)(y), x],
    ),
    "dense pixels": ((PICTURE,), lambda k, o, x: k.Dense(5, activation="gelu")(x)),
    "squeeze and excite": (
        ((6, 8, 20),),
        lambda k, o, x: (
            x * k.Dense(20, activation="sigmoid")(k.GlobalAveragePooling2D(keepdims=True)(x))
        ),
    ),
    "functions": (
        ((90,),),
        lambda k, o, x: k.Concatenate()([k.Activation(each)(x * 6.0) for each in ACTIVATIONS]),
    ),
    "rescaled": ((PICTURE,), lambda k, o, x: k.Rescaling([1, 2, 3], offset=[0.1, 0, 0.2])(x)),
}


def filled(model, random):
    for weight in model.weights:
        weight.assign(random.uniform(0.1, 0.9, weight.shape))
    return model


@pytest.fixture(scope="module")
def nets(keras, plain_tools, native_cache, tmp_path_factory):
    """Each as graph, Keras' answers and how it was built."""
    random, found = np.random.default_rng(0), {}
    for name, (shapes, made) in NETS.items():
        inputs = [keras.Input(shape) for shape in shapes]
        model = keras.Model(inputs, made(keras.layers, keras.ops, *inputs))
        graph = capture(filled(model, random), name)
        found[name] = (graph, reference_outputs(model, graph))
    words = keras.Input((9,), dtype="int32")
    rows = keras.layers.Dense(3)(keras.layers.Embedding(20, 8)(words))
    model = filled(keras.Model(words, rows), random)
    graph = capture(model, "embedding")
    found["embedding"] = (graph, reference_outputs(model, graph))
    folder = tmp_path_factory.mktemp("layers")
    built = build_many([graph for graph, _ in found.values()], plain_tools, native_cache, folder)
    return {name: (*each, made) for (name, each), made in zip(found.items(), built, strict=True)}


@pytest.mark.parametrize("name", [*NETS, "embedding"])
def test_a_layer_computes_what_it_does_in_keras(name, nets):
    graph, told, (emitted, built) = nets[name]
    found = {
        "reference": reference.outputs(graph, *told.inputs, dtype=np.float64),
        "passes": reference.outputs(optimize(graph), *told.inputs, dtype=np.float64),
        "onnx": by_onnxruntime(graph, told.inputs),
        "library": by_library(emitted, built, told.inputs),
        "team": by_library(emitted, built, told.inputs, batch=1, threads=2),
        "tail": by_library(emitted, built, told.inputs, batch=3, threads=2),
    }

    far = {
        who: max(distance(here, there) for here, there in zip(outputs, told.outputs, strict=True))
        for who, outputs in found.items()
    }

    assert {who: apart for who, apart in far.items() if apart > NEAR} == {}


@pytest.mark.parametrize("name", ["two of each", "embedding"])
def test_a_program_reads_a_file_for_each_input_and_writes_one_for_each_output(name, nets):
    _, told, (emitted, built) = nets[name]

    found = by_program(emitted, built, told.inputs)

    far = [distance(here, there) for here, there in zip(found, told.outputs, strict=True)]
    assert max(far) <= NEAR


@pytest.mark.parametrize(
    "made, what",
    [
        (lambda k, o, x: k.LSTM(3, name="it")(x), "a LSTM"),
        (lambda k, o, x: k.GRU(3, name="it")(x), "a GRU"),
        (lambda k, o, x: o.mean(x, axis=None), "over the axes None, the batch among them"),
        (lambda k, o, x: o.roll(x, 1, axis=1), "a Roll of keras.ops"),
        (lambda k, o, x: o.matmul(x, np.ones(8)), "no matrices"),
        (
            lambda k, o, x: k.MultiHeadAttention(2, 3)(x, x, attention_mask=np.ones((1, 6, 6))),
            "attention_mask",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(made, what, keras):
    image = keras.Input(ROWS)

    with pytest.raises(UsageError, match="The layer '") as caught:
        capture(keras.Model(image, made(keras.layers, keras.ops, image)))

    assert what in str(caught.value)
