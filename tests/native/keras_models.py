"""Small Keras models drawn from a seed: every rank, layout and layer that is captured."""

from __future__ import annotations

import math
import random

import numpy as np

ACTIVATIONS = ("relu", "relu6", "leaky_relu", "tanh", "sigmoid", "elu", "selu", "gelu", "silu")
ACTIVATIONS += ("softplus", "softsign", "hard_sigmoid", "hard_silu", "linear", "softmax")
LARGEST = 600  # numbers in an item: nets are tiny, and many


class Drawing:
    """A functional model in the making; all choices come from one seed."""

    def __init__(self, keras, seed):
        self.keras, self.layers, self.random = keras, keras.layers, random.Random(seed)
        self.weights = np.random.default_rng(seed)
        self.tensors = []
        self.made = []  # layers, with the shapes they were built for
        self.refused = ""  # the name of a layer that has to be refused

    def filled(self, shape, dtype=None):
        """By numpy: a framework that compiles would do so for every shape."""
        return self.weights.uniform(-0.6, 0.7, shape).astype(np.float32)

    def positive(self, shape, dtype=None):
        return self.weights.uniform(0.2, 0.9, shape).astype(np.float32)

    def some(self, *choices):
        return self.random.choice(choices)

    def size(self, most):
        return self.random.randint(1, max(1, most))

    def maybe(self):
        return self.some(True, False)

    def picture(self, tensor):
        """Its height and width."""
        shape = tensor.shape[1:]
        last = self.keras.config.image_data_format() == "channels_last"
        return shape[:2] if last else shape[1:]

    def channels(self, tensor):
        last = self.keras.config.image_data_format() == "channels_last"
        return tensor.shape[-1] if last else tensor.shape[1]

    def called(self, layer, tensor):
        self.made.append((layer, tuple(tensor.shape)))
        return layer(tensor)


def dense(net, x):
    return net.called(_dense(net, net.size(6), net.some(*ACTIVATIONS)), x)


def _dense(net, units, activation=None):
    given = {"kernel_initializer": net.filled, "bias_initializer": net.filled}
    return net.layers.Dense(units, activation, use_bias=net.maybe(), **given)


def batch_norm(net, x):
    axis = net.random.randint(1, len(x.shape) - 1)
    return net.called(_batch_norm(net, axis), x)


def _batch_norm(net, axis):
    return net.layers.BatchNormalization(
        axis=axis,
        scale=net.maybe(),
        center=net.maybe(),
        gamma_initializer=net.filled,
        beta_initializer=net.filled,
        moving_mean_initializer=net.filled,
        moving_variance_initializer=net.positive,
    )


def activation(net, x):
    kinds = net.layers
    return net.some(
        kinds.Activation(net.some(*ACTIVATIONS)),
        kinds.ReLU(max_value=net.some(None, 1.0), negative_slope=net.some(0.0, 0.2)),
        kinds.LeakyReLU(),
        kinds.ELU(0.7),
        kinds.Softmax(axis=net.random.randint(1, len(x.shape) - 1)),
    )(x)


def plain(net, x):
    kinds = net.layers
    layer = net.some(kinds.Dropout(0.5), kinds.GaussianNoise(0.5), kinds.Identity())
    return net.some(layer, kinds.Rescaling(0.5, offset=-0.3))(x)


def flatten(net, x):
    return net.layers.Flatten()(x)


def reshape(net, x):
    count = math.prod(x.shape[1:])
    first = net.some(*(each for each in (1, 2, 3, 4, 5, 6) if count % each == 0))
    second = net.some(*(each for each in (1, 2, 3) if (count // first) % each == 0))
    rest = count // first // second
    shapes = ((count,), (first, -1), (first, second, rest), (1, first, second, rest))
    return net.layers.Reshape(net.some(*shapes))(x)


def permute(net, x):
    axes = list(range(1, len(x.shape)))
    net.random.shuffle(axes)
    return net.layers.Permute(tuple(axes))(x)


def merge(net, x):
    """With a tensor of the same shape, by a layer or by an operator."""
    alike = [other for other in net.tensors if other.shape == x.shape and other is not x]
    other = net.some(*alike) if alike else activation(net, x)
    kind = net.some("Add", "Multiply", "Maximum", "Minimum", "Average", "plus", "times", "minus")
    if kind in ("plus", "times"):
        return x + other if kind == "plus" else x * other
    if kind in ("Average", "minus"):  # with what it does not cancel
        return x - net.layers.Activation("sigmoid")(other)
    return getattr(net.layers, kind)()([x, other])


def concatenate(net, x):
    axis = net.random.randint(1, len(x.shape) - 1)
    rest = [size for at, size in enumerate(x.shape) if at != axis]
    fits = [
        other
        for other in net.tensors
        if len(other.shape) == len(x.shape)
        and [size for at, size in enumerate(other.shape) if at != axis] == rest
    ]
    return net.layers.Concatenate(axis=axis)([x, net.some(*fits, x)])


def again(net, x):
    """A layer that was used before, where the input fits it."""
    fits = [layer for layer, shape in net.made if shape == tuple(x.shape)]
    fits += [
        layer
        for layer, shape in net.made
        if isinstance(layer, net.layers.Dense) and shape[-1] == x.shape[-1]
    ]
    return net.some(*fits)(x) if fits else dense(net, x)


def inner(net, x):
    """A model inside the model."""
    parts = [_dense(net, net.size(5)), net.layers.ReLU(), _batch_norm(net, -1)]
    net.random.shuffle(parts)
    return net.called(net.keras.Sequential([net.keras.Input(x.shape[1:]), *parts]), x)


def conv(net, x):
    height, width = net.picture(x)
    groups = net.some(*(each for each in (1, 1, 2, 3) if net.channels(x) % each == 0))
    strides = net.some(1, 1, 2)
    layer = net.layers.Conv2D(
        groups * net.size(9),
        (net.size(min(5, height)), net.size(min(5, width))),
        strides=strides,
        dilation_rate=net.some(1, 2) if strides == 1 and min(height, width) > 8 else 1,
        padding=net.some("same", "valid"),
        groups=groups,
        use_bias=net.maybe(),
        activation=net.some(*ACTIVATIONS),
        kernel_initializer=net.filled,
        bias_initializer=net.filled,
    )
    return net.called(layer, x)


def squared(net, x):
    """Windows and channels that Winograd's filtering is made for."""
    window = net.some(3, 5)
    given = {"kernel_initializer": net.filled, "bias_initializer": net.filled}
    return net.called(net.layers.Conv2D(net.some(8, 17), window, padding="same", **given), x)


def depthwise(net, x):
    height, width = net.picture(x)
    window = (net.size(min(3, height)), net.size(min(3, width)))
    if net.maybe():
        given = {"depthwise_initializer": net.filled, "pointwise_initializer": net.filled}
        layer = net.layers.SeparableConv2D(net.size(4), window, depth_multiplier=2, **given)
    else:
        given = {"depthwise_initializer": net.filled, "depth_multiplier": net.size(2)}
        layer = net.layers.DepthwiseConv2D(window, padding="same", **given)
    return net.called(layer, x)


def pool(net, x):
    height, width = net.picture(x)
    kind = net.some(net.layers.MaxPooling2D, net.layers.AveragePooling2D)
    window = (net.size(min(3, height)), net.size(min(3, width)))
    return kind(window, strides=net.some(None, 1, 2), padding=net.some("same", "valid"))(x)


def global_pool(net, x):
    kind = net.some(net.layers.GlobalMaxPooling2D, net.layers.GlobalAveragePooling2D)
    return kind(keepdims=net.maybe())(x)


def around(net, x):
    pads = tuple((net.size(2) - 1, net.size(3) - 1) for _ in range(2))
    return net.some(net.layers.ZeroPadding2D(pads), net.layers.UpSampling2D((1, 2)))(x)


def norm(net, x):
    axis = net.random.randint(1, len(x.shape) - 1)
    given = {"gamma_initializer": net.positive, "beta_initializer": net.filled}
    layer = net.layers.LayerNormalization(net.some(axis, -1), center=net.maybe(), **given)
    return net.called(net.some(layer, net.layers.RMSNormalization()), x)


def known(net, x):
    """With numbers, not with tensors."""
    numbers = net.positive((x.shape[-1],))
    return net.some(
        lambda: x + 3.0,
        lambda: 0.5 - x,
        lambda: x * numbers,
        lambda: x / numbers,
        lambda: net.keras.ops.maximum(x, 0.1),
        lambda: net.keras.ops.where(numbers > 0.5, x, -0.5),
    )()


def part(net, x):
    """Some of an axis, or what becomes of all of it."""
    axis = net.random.randint(1, len(x.shape) - 1)
    size, numpy_like = x.shape[axis], net.keras.ops
    first = net.random.randint(0, size - 1)
    keys = [slice(None)] * len(x.shape)
    keys[axis] = net.some(slice(first, None), slice(None, first + 1, 2), slice(None, None, -1))
    reduce = net.some(numpy_like.mean, numpy_like.max, numpy_like.sum)
    if len(x.shape) > 2 and net.maybe():
        return reduce(x, axis=axis, keepdims=net.maybe())
    return x[tuple(keys)]


def product(net, x):
    """With itself turned: scores, as attention has them."""
    if len(x.shape) < 3:
        return known(net, x)
    axes = [*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2]
    return net.keras.ops.matmul(x, net.keras.ops.transpose(x, axes)) * 0.3


def attention(net, x):
    if len(x.shape) != 3:
        return norm(net, x)
    made = net.keras.initializers.RandomUniform(-0.6, 0.7, seed=net.size(99))
    given = {"kernel_initializer": made, "bias_initializer": made}
    return net.layers.MultiHeadAttention(net.size(3), net.size(5), **given)(x, x)


def upwards(net, x):
    given = {"kernel_initializer": net.filled, "bias_initializer": net.filled}
    window, strides = (net.size(4), net.size(4)), net.some(1, 2, 3)
    padding = net.some("same", "valid")
    layer = net.layers.Conv2DTranspose(net.size(5), window, strides, padding, **given)
    return net.called(layer, x)


def cropped(net, x):
    height, width = net.picture(x)
    cut = tuple((0, net.random.randint(0, (size - 1) // 2)) for size in (height, width))
    return net.layers.Cropping2D(cut)(x)


def refused(net, x):
    """Something that may not be passed over; tells which layer has to be named."""
    kinds, called = net.layers, {"name": "refused"}
    made = net.some(
        lambda: kinds.Dropout(0.5, **called)(x, training=True),
        lambda: kinds.BatchNormalization(**called)(x, training=True),
        lambda: kinds.Activation("squareplus", **called)(x),
        lambda: kinds.UnitNormalization(**called)(x),
        lambda: kinds.Softmax(**called)(x, mask=x),
        lambda: kinds.Dense(3, dtype="mixed_bfloat16", **called)(x),
        lambda: kinds.ReLU(threshold=0.5, **called)(x),
    )()
    net.refused = "refused"
    return made


ANY = (dense, dense, batch_norm, batch_norm, activation, plain, flatten, reshape, permute)
ANY += (merge, merge, concatenate, again, again, inner, norm, known, known, part, product)
ANY += (attention,)
PICTURES = (conv, conv, conv, squared, depthwise, pool, global_pool, around, upwards, cropped)


def draw(keras, seed):
    """A model and the name of the layer for which it has to be refused, or ""."""
    before = keras.config.image_data_format()
    net = Drawing(keras, seed)
    keras.config.set_image_data_format(net.some("channels_last", "channels_first"))
    try:
        return _drawn(net, seed), net.refused
    finally:
        keras.config.set_image_data_format(before)


def _drawn(net, seed):
    inputs = []
    for _ in range(net.some(1, 1, 1, 1, 2)):
        rank = net.some(1, 2, 3, 3, 3, 4)
        inputs.append(net.keras.Input(tuple(net.size(9 if rank < 4 else 4) for _ in range(rank))))
    net.tensors += inputs
    for _ in range(net.random.randint(1, 8)):
        x = net.some(*net.tensors[-3:])
        steps = ANY + (PICTURES if len(x.shape) == 4 else ())
        made = net.some(*steps)(net, x) if math.prod(x.shape[1:]) <= LARGEST else flatten(net, x)
        net.tensors.append(made)
    if net.random.random() < 0.1:
        net.tensors.append(refused(net, net.tensors[-1]))
    outputs = [net.tensors[-1]]
    if net.random.random() < 0.15:
        outputs.append(net.some(*net.tensors))
    for tensor in inputs:  # one that nothing reads is none
        if len(inputs) > 1:
            outputs[0] = net.layers.Concatenate()(
                [net.layers.Flatten()(outputs[0]), net.layers.Flatten()(tensor)]
            )
    alone = outputs[0] if len(outputs) == 1 else outputs
    return net.keras.Model(inputs, alone, name=f"net{seed}")
