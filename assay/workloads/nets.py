"""Feed-forward networks as plain data, so that every framework builds the very same one.

A net is a tuple of layers. `weights` makes its weights with numpy from a seed; each framework's
builder takes the net and those weights, so outputs can be compared across all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from assay.contracts import Builder, Job
from assay.records import Value


class Conv(msgspec.Struct, frozen=True):
    """Square kernel, stride 1, with bias; `same` or `valid` padding."""

    filters: int
    kernel: int
    padding: str = "same"


class Dense(msgspec.Struct, frozen=True):
    units: int


class Pool(msgspec.Struct, frozen=True):
    """Maximum over squares that do not overlap."""

    size: int


class Dropout(msgspec.Struct, frozen=True):
    rate: float


class Norm(msgspec.Struct, frozen=True):
    """Batch norm of each channel with a learned offset and no scale, as the VGG16 study had it.

    Training takes the batch's own statistics. `running`: testing takes running averages of them
    (Keras 1 called it mode 0), else the batch's own again (mode 2). `fused`: in one kernel of the
    framework, where it has one to choose.
    """

    running: bool
    fused: bool = False


# Kinds without such a kernel to choose.
NO_FUSED = {
    "keras": "Keras has no fused batch norm to choose; drop fused=true",
    "jax": "JAX has no fused batch norm: XLA fuses; drop fused=true",
}
MOMENTUM, EPSILON = 0.99, 1e-3  # of every batch norm: Keras' own


class Relu(msgspec.Struct, frozen=True):
    pass


class Flatten(msgspec.Struct, frozen=True):
    pass


Layer = Conv | Dense | Pool | Dropout | Norm | Relu | Flatten
Shape = tuple[int, ...]  # of one item, channels last


class Net(msgspec.Struct, frozen=True):
    """A network for pictures or vectors, ending in logits; the softmax is in the loss."""

    input_shape: Shape
    layers: tuple[Layer, ...]

    @property
    def classes(self) -> int:
        return self.shapes()[-1][0]

    def shapes(self) -> list[Shape]:
        """The input shape of each layer, and the output's last."""
        shapes = [self.input_shape]
        for layer in self.layers:
            shapes.append(_after(layer, shapes[-1]))
        return shapes

    def weight_shapes(self) -> Iterator[tuple[Shape, ...]]:
        """Of each layer that has weights: kernel (kh, kw, in, out) and bias, or a norm's offset."""
        for layer, shape in zip(self.layers, self.shapes(), strict=False):
            if isinstance(layer, Conv):
                yield (layer.kernel, layer.kernel, shape[-1], layer.filters), (layer.filters,)
            elif isinstance(layer, Dense):
                yield (shape[0], layer.units), (layer.units,)
            elif isinstance(layer, Norm):
                yield ((shape[-1],),)

    def parameters(self) -> int:
        return sum(math.prod(shape) for shapes in self.weight_shapes() for shape in shapes)

    def multiply_adds(self) -> int:
        """Of one forward pass over one item."""
        total = 0
        for layer, shape, after in zip(self.layers, self.shapes(), self.shapes()[1:], strict=False):
            if isinstance(layer, Conv):
                total += math.prod(after) * layer.kernel**2 * shape[-1]
            elif isinstance(layer, Dense):
                total += shape[0] * layer.units
        return total


class NetWorkload(msgspec.Struct, frozen=True):
    """A workload whose network is a Net; built for each framework by its own module."""

    summary: str
    source: str
    params: Mapping[str, Value]
    net: Callable[..., Net]  # takes the parameters but batch_size and seed
    optimizer: str
    learning_rate: float
    choices: Mapping[str, tuple[str, ...]] = {}
    version: str = "1"

    @property
    def kinds(self) -> Mapping[str, Builder]:
        return {kind: self._builder(kind) for kind in ("keras", "torch", "jax", "tensorflow")}

    def refuses(self, kind: str, params: Mapping[str, Value]) -> str:
        return NO_FUSED.get(kind, "") if params.get("fused") else ""

    def _builder(self, kind: str) -> Builder:
        def build(batch_size: int, seed: int, **params: Value) -> Job:
            net = self.net(**params)
            return Job(
                model=_model(kind, net, weights(net, seed)),
                optimizer=self.optimizer,
                learning_rate=self.learning_rate,
                train_batch=batch(net, batch_size, seed),
                multiply_adds=net.multiply_adds(),
            )

        return build


def _model(kind: str, net: Net, arrays: list[Any]) -> object:
    from importlib import import_module

    return import_module(f"assay.workloads._{kind}_nets").model(net, arrays)


def weights(net: Net, seed: int) -> list[Any]:
    """Glorot-uniform kernels and small non-zero biases and offsets, from the seed alone."""
    import numpy as np

    random = np.random.default_rng(seed)
    arrays: list[Any] = []
    for *kernel, (channels,) in net.weight_shapes():
        for shape in kernel:
            fan_in, fan_out = math.prod(shape[:-1]), math.prod(shape[:-2]) * shape[-1]
            limit = math.sqrt(6 / (fan_in + fan_out))
            values = random.random(shape, dtype=np.float32)
            values *= 2 * limit
            values -= limit
            arrays.append(values)
        arrays.append(random.uniform(-0.05, 0.05, channels).astype(np.float32))
    return arrays


def batch(net: Net, size: int, seed: int) -> tuple[Any, Any]:
    """Pictures in [-1, 1) and labels, channels last. Never zeros: they draw less power and time."""
    import numpy as np

    random = np.random.default_rng([seed, 1])
    pictures = random.random((size, *net.input_shape), dtype=np.float32)
    pictures *= 2  # in place: a largest batch must not be bounded by a second copy of it
    pictures -= 1
    return pictures, random.integers(0, net.classes, size).astype(np.int32)


def _after(layer: Layer, shape: Shape) -> Shape:
    match layer:
        case Conv(filters, kernel, padding):
            lost = 0 if padding == "same" else kernel - 1
            return (shape[0] - lost, shape[1] - lost, filters)
        case Pool(size):
            return (shape[0] // size, shape[1] // size, shape[2])
        case Dense(units):
            return (units,)
        case Flatten():
            return (math.prod(shape),)
    return shape
