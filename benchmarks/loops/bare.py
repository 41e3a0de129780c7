"""The bare programs of fixed_cost.py: each defines `step` and `wait`, as one writes it by hand."""

from __future__ import annotations


def loop(frame: str, net: str, **sizes: int) -> str:
    """One of the loops beside this file."""
    return (
        f"from loops.{frame}_{net} import make\n"
        f"step, wait = make({{'policy': 'float32'}}, **{sizes})\n"
    )


# The same net and optimizer, data of the same size.
_SIZES = "sizes = [784, 1024, 1024, 1024, 1024, 10]\n"
TORCH_MLP = (
    _SIZES
    + """
import torch
from torch import nn
pairs = list(zip(sizes, sizes[1:]))
hidden = [p for a, b in pairs[:-1] for p in (nn.Linear(a, b), nn.ReLU(), nn.Dropout(0.2))]
model = nn.Sequential(*hidden, nn.Linear(1024, 10))
x, y = torch.rand(32, 784), torch.randint(0, 10, (32,))
optimizer = torch.optim.RMSprop(model.parameters(), 0.001)
def step():
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
wait = lambda _: None
"""
)
JAX_MLP = (
    _SIZES
    + """
import jax, jax.numpy as jnp, numpy as np
weights = [(jnp.asarray(np.random.rand(a, b), jnp.float32) * 0.05, jnp.zeros(b))
           for a, b in zip(sizes, sizes[1:])]
x, y = jnp.asarray(np.random.rand(32, 784), jnp.float32), jnp.asarray(np.arange(32) % 10)
def loss(weights, key):
    h = x
    for number, (w, b) in enumerate(weights[:-1]):
        h = jax.nn.relu(h @ w + b)
        kept = jax.random.bernoulli(jax.random.fold_in(key, number), 0.8, h.shape)
        h = jnp.where(kept, h / 0.8, 0)
    logits = jax.nn.log_softmax(h @ weights[-1][0] + weights[-1][1])
    return -jnp.take_along_axis(logits, y[:, None], 1).mean()
def update(state):
    weights, squares, key = state
    key, used = jax.random.split(key)
    slopes = jax.grad(loss)(weights, used)
    squares = jax.tree.map(lambda s, g: 0.9 * s + 0.1 * g**2, squares, slopes)
    weights = jax.tree.map(lambda w, g, s: w - 0.001 * g / jnp.sqrt(s + 1e-7),
                           weights, slopes, squares)
    return weights, squares, key
function = jax.jit(update, donate_argnums=0)
state = [(weights, jax.tree.map(jnp.zeros_like, weights), jax.random.key(0))]
def step():
    state[0] = function(state[0])
    return state[0]
wait = jax.block_until_ready
"""
)
KERAS_MLP = """
import keras, numpy as np
layers = [keras.Input((784,))]
for _ in range(4):
    layers += [keras.layers.Dense(1024, "relu"), keras.layers.Dropout(0.2)]
model = keras.Sequential([*layers, keras.layers.Dense(10)])
x, y = np.random.rand(32, 784).astype("float32"), np.random.randint(0, 10, 32)
wait = lambda _: None
"""
TRAINED = """
model.compile("rmsprop", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
step = lambda: model.train_on_batch(x, y)
"""
KERAS_RESNET = """
import keras, numpy as np
model = keras.applications.ResNet50(weights=None, input_shape=({image}, {image}, 3),
                                    classifier_activation=None)
x = np.random.rand({batch}, {image}, {image}, 3).astype("float32")
y = np.random.randint(0, 1000, {batch})
wait = lambda _: None
"""
TENSORFLOW_MLP = (
    _SIZES
    + """
import numpy as np, tensorflow as tf
weights = [(tf.Variable(np.random.rand(a, b).astype("float32") * 0.05), tf.Variable(tf.zeros(b)))
           for a, b in zip(sizes, sizes[1:])]
squares = [[tf.Variable(tf.zeros_like(w)) for w in pair] for pair in weights]
x, y = tf.constant(np.random.rand(32, 784), tf.float32), tf.constant(np.arange(32) % 10)
@tf.function(jit_compile=False)
def step():
    with tf.GradientTape() as tape:
        h = x
        for w, b in weights[:-1]:
            h = tf.nn.dropout(tf.nn.relu(h @ w + b), 0.2)
        logits = h @ weights[-1][0] + weights[-1][1]
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
    flat, kept = ([v for pair in them for v in pair] for them in (weights, squares))
    for w, s, g in zip(flat, kept, tape.gradient(loss, flat)):
        s.assign(0.9 * s + 0.1 * g**2)
        w.assign_sub(0.001 * g / tf.sqrt(s + 1e-7))
    return loss
wait = lambda last: last.numpy()
"""
)
KERAS_GPT2 = """
import keras, numpy as np
from keras import layers
tokens = keras.Input(({length},), dtype="int32")
embed = layers.Embedding({vocabulary}, {width})
h = embed(tokens) + layers.Embedding({length}, {width})(np.arange({length})[None])
for _ in range({layers}):
    n = layers.LayerNormalization()(h)
    h = h + layers.MultiHeadAttention({heads}, {width} // {heads})(n, n, use_causal_mask=True)
    n = layers.Dense(4 * {width}, "gelu")(layers.LayerNormalization()(h))
    h = h + layers.Dense({width})(n)
h = layers.LayerNormalization()(h)
model = keras.Model(tokens, keras.ops.matmul(h, keras.ops.transpose(embed.embeddings)))
x = np.random.randint(0, {vocabulary}, ({batch}, {length}))
y = np.random.randint(0, {vocabulary}, ({batch}, {length}))
wait = lambda _: None
"""
# Keras builds, then the graph is taken down and given to the runtime, in the same process.
_CAPTURED = """
from assay.native.capture import capture
graph = capture(model)
"""
ONNX_RUNTIME = (
    _CAPTURED
    + """
import onnxruntime
from assay.native.onnx.file import onnx_bytes
session = onnxruntime.InferenceSession(onnx_bytes(graph))
given = {session.get_inputs()[0].name: x.astype(graph.inputs[0].dtype)}
step = lambda: session.run(None, given)
"""
)
OPENVINO = (
    _CAPTURED
    + """
import openvino
from assay.native.onnx.file import onnx_bytes
compiled = openvino.compile_model(openvino.Core().read_model(onnx_bytes(graph)), "CPU")
step = lambda: compiled([x.astype(graph.inputs[0].dtype)])
"""
)
NATIVE = (
    _CAPTURED
    + """
import os
from assay.native.build import build
from assay.native.emit import emit
from assay.native.library import LoadedModel
from assay.native.passes.pipeline import optimize
from assay.native.toolchain import toolchain
emitted = emit(optimize(graph))
library = build(emitted, toolchain("auto"))
loaded = LoadedModel(library, emitted, len(x), len(os.sched_getaffinity(0)), "auto", 4.0)
step, _ = loaded.bind(np.ascontiguousarray(x, np.float32))
"""
)
RUNTIMES = {"onnxruntime": ONNX_RUNTIME, "openvino": OPENVINO, "native": NATIVE}


def compared(gpu: bool) -> dict[str, str]:
    """Every case, and the bare program it is compared with."""
    picture = {"batch": 32, "image": 224} if gpu else {"batch": 2, "image": 64}
    text = {"batch": 8, "length": 1024} if gpu else {"batch": 1, "length": 64}
    gpt2 = {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50257}
    workloads = {
        "mnist-mlp": KERAS_MLP,
        "resnet50:batch_size={batch},image_size={image}".format(**picture): KERAS_RESNET.format(
            **picture
        ),
        "transformer-decoder:size=base,batch_size={batch},length={length}".format(
            **text
        ): KERAS_GPT2.format(**gpt2, **text),
    }
    mlp, resnet, decoder = workloads
    unused = {"prompt": 1, "generated": 1}
    found = {
        f"{mlp}@torch": TORCH_MLP,
        f"{mlp}@jax": JAX_MLP,
        f"{mlp}@tensorflow": TENSORFLOW_MLP,
        f"{resnet}@torch": loop("torch", "resnet50", narrower=1, **picture),
        f"{resnet}@jax": loop("jax", "resnet50", narrower=1, **picture),
        f"{decoder}@torch": loop("torch", "gpt2", **gpt2, **text, **unused),
        f"{decoder}@jax": loop("jax", "gpt2", **gpt2, **text, **unused),
    }
    for workload, built in workloads.items():
        for engine in ("jax", "torch", "tensorflow"):
            found[f"{workload}@keras-{engine}"] = built + TRAINED
        for name, runtime in () if gpu else RUNTIMES.items():  # they are of the CPU
            found[f"{workload}@{name}"] = built + runtime
    return {
        case: found[case] for workload in workloads for case in found if case.startswith(workload)
    }
