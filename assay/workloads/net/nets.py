"""Networks as plain data, so that every framework builds the same one.

A net is a tuple of layers. `weights` draws its weights with numpy from a seed; each framework's
builder takes the net and the weights, so that outputs can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from assay.core import phases
from assay.core.records import Value
from assay.core.sessions import Builder, Job
from assay.workloads.models import weight_cache
from assay.workloads.net.layers import (
    NO_FUSED,
    Flatten,
    Layer,
    LayerPosition,
    Shape,
    after,
    layer_positions,
    multiply_adds,
    variables,
)


class Net(msgspec.Struct, frozen=True):
    """A network for images or vectors with logits as outputs; the softmax is in the loss."""

    input_shape: Shape
    layers: tuple[Layer, ...]

    @property
    def classes(self) -> int:
        return self.shapes()[-1][0]

    def shapes(self) -> list[Shape]:
        """The input shape of each layer, and the output's last."""
        shapes = [self.input_shape]
        for layer in self.layers:
            shapes.append(after(layer, shapes[-1]))
        return shapes

    def positions(self) -> list[LayerPosition]:
        """Every layer with its name and shapes, in order of creation."""
        return list(layer_positions(self.layers, self.input_shape, {}))

    def weight_shapes(self) -> dict[str, Shape]:
        """`<layer>_<n>/<variable>` → shape, in order of creation."""
        return {
            f"{position.name}/{variable}": shape
            for position in self.positions()
            for variable, shape in variables(position.layer, position.before).items()
        }

    def size(self) -> int:
        """Number of weight values, including running averages."""
        return sum(math.prod(shape) for shape in self.weight_shapes().values())

    def parameters(self) -> int:
        """Number of trained ones."""
        return sum(
            math.prod(shape) for name, shape in self.weight_shapes().items() if is_trained(name)
        )

    def multiply_adds(self) -> int:
        """Of one forward pass over one item."""
        return sum(
            multiply_adds(position.layer, position.before, position.after)
            for position in self.positions()
        )

    def flattened_shapes(self) -> dict[str, Shape]:
        """Dense layer → rows, columns, channels of the feature map flattened before it."""
        shapes: dict[str, Shape] = {}
        shape: Shape = ()
        for position in self.positions():
            if isinstance(position.layer, Flatten):
                shape = position.before
            elif position.name and shape:
                shapes[position.name], shape = shape, ()
        return shapes


class NetWorkload(msgspec.Struct, frozen=True):
    """A workload whose network is a Net; a module for each framework builds it."""

    summary: str
    source: str
    params: Mapping[str, Value]
    net: Callable[..., Net]  # takes the parameters but batch_size and seed
    optimizer: str
    learning_rate: float
    choices: Mapping[str, tuple[str, ...]] = {}
    version: str = "1"
    pictures: bool = True

    @property
    def kinds(self) -> Mapping[str, Builder]:
        return {kind: self._builder(kind) for kind in ("keras", "torch", "jax", "tensorflow")}

    def refuses(self, kind: str, params: Mapping[str, Value]) -> str:
        return NO_FUSED.get(kind, "") if params.get("fused") else ""

    def _builder(self, kind: str) -> Builder:
        def build(batch_size: int, seed: int, **params: Value) -> Job:
            net = self.net(**params)
            with phases.during("weights"):
                arrays = weights(net, seed)
            return Job(
                model=model(kind, net, arrays),
                optimizer=self.optimizer,
                learning_rate=self.learning_rate,
                train_batch=batch(net, batch_size, seed),
                multiply_adds=net.multiply_adds(),
            )

        return build


def model(kind: str, net: Net, arrays: Mapping[str, Any]) -> object:
    """The net as a framework's model, with these weights."""
    from importlib import import_module

    return import_module(f"assay.workloads.net.{kind}").model(net, arrays)


def weights(net: Net, seed: int) -> dict[str, Any]:
    """Glorot-uniform kernels and small non-zero biases and offsets, from the seed."""
    shapes = net.weight_shapes()

    def draw() -> Iterator[Any]:
        import numpy as np

        random = np.random.default_rng(seed)
        for name, shape in shapes.items():
            low, high = _range(name, shape)
            if len(shape) == 1:
                yield random.uniform(low, high, shape).astype(np.float32)
                continue
            values = random.random(shape, dtype=np.float32)
            values *= high - low
            values += low
            yield values

    return dict(weight_cache.load_or_draw(shapes, seed, draw))


def is_trained(name: str) -> bool:
    """Whether a weight of this name is trained: running averages are not."""
    return not name.partition("/")[2].startswith("moving_")


def batch(net: Net, size: int, seed: int) -> tuple[Any, Any]:
    """Images in [-1, 1) and labels, channels last. Never zeros, which need less power and time."""
    import numpy as np

    random = np.random.default_rng([seed, 1])
    images = random.random((size, *net.input_shape), dtype=np.float32)
    images *= 2  # in place: a copy would limit the largest batch
    images -= 1
    return images, random.integers(0, net.classes, size).astype(np.int32)


def _range(name: str, shape: Shape) -> tuple[float, float]:
    if name.endswith(("/gamma", "/moving_variance")):
        return 0.9, 1.1
    if len(shape) == 1:
        return -0.05, 0.05
    # Glorot and Bengio (2010); a depthwise kernel has one input channel
    receptive = math.prod(shape[:-2])
    fans = 2 * receptive if name.startswith("depthwise") else receptive * sum(shape[-2:])
    limit = math.sqrt(6 / fans)
    return -limit, limit
