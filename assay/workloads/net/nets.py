"""Networks as plain data, so that every framework builds the very same one.

A net is a tuple of layers. `weights` makes its weights with numpy from a seed, or takes them from
a file; each framework's builder takes the net and those weights, so outputs can be compared
across all of them.
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
    Placed,
    Shape,
    after,
    multiply_adds,
    placed,
    variables,
)


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
            shapes.append(after(layer, shapes[-1]))
        return shapes

    def placed(self) -> list[Placed]:
        """Every layer with its name and shapes, in order of creation."""
        return list(placed(self.layers, self.input_shape, {}))

    def weight_shapes(self) -> dict[str, Shape]:
        """`<layer>_<n>/<variable>` → shape, in order of creation."""
        return {
            f"{one.name}/{variable}": shape
            for one in self.placed()
            for variable, shape in variables(one.layer, one.before).items()
        }

    def size(self) -> int:
        """How many numbers its weights are, running averages included."""
        return sum(math.prod(shape) for shape in self.weight_shapes().values())

    def parameters(self) -> int:
        """How many of them are trained."""
        return sum(
            math.prod(shape) for name, shape in self.weight_shapes().items() if trained(name)
        )

    def multiply_adds(self) -> int:
        """Of one forward pass over one item."""
        return sum(multiply_adds(one.layer, one.before, one.after) for one in self.placed())

    def flattened(self) -> dict[str, Shape]:
        """Dense layer → rows, columns, channels of the map that was flattened before it."""
        found: dict[str, Shape] = {}
        shape: Shape = ()
        for one in self.placed():
            if isinstance(one.layer, Flatten):
                shape = one.before
            elif one.name and shape:
                found[one.name], shape = shape, ()
        return found


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
    """Glorot-uniform kernels and small non-zero biases and offsets, from the seed alone."""
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

    return dict(weight_cache.once(shapes, seed, draw))


def trained(name: str) -> bool:
    """Whether a weight of this name is; running averages are not."""
    return not name.partition("/")[2].startswith("moving_")


def batch(net: Net, size: int, seed: int) -> tuple[Any, Any]:
    """Pictures in [-1, 1) and labels, channels last. Never zeros: they draw less power and time."""
    import numpy as np

    random = np.random.default_rng([seed, 1])
    pictures = random.random((size, *net.input_shape), dtype=np.float32)
    pictures *= 2  # in place: a largest batch must not be bounded by a second copy of it
    pictures -= 1
    return pictures, random.integers(0, net.classes, size).astype(np.int32)


def _range(name: str, shape: Shape) -> tuple[float, float]:
    if name.endswith(("/gamma", "/moving_variance")):
        return 0.9, 1.1
    if len(shape) == 1:
        return -0.05, 0.05
    # Glorot and Bengio (2010); a depthwise kernel meets one channel at a time
    receptive = math.prod(shape[:-2])
    fans = 2 * receptive if name.startswith("depthwise") else receptive * sum(shape[-2:])
    limit = math.sqrt(6 / fans)
    return -limit, limit
