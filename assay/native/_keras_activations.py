"""Keras' activations, given as functions or as layers."""

from __future__ import annotations

from typing import Any

from keras import activations, layers

from assay.native import ops
from assay.native.building import Building, Tensor
from assay.native.capture import unsupported

_FUNCTIONS: dict[Any, ops.Activation] = {
    activations.relu: ops.Activation("relu"),
    activations.relu6: ops.Activation("relu", limit=6.0),
    activations.leaky_relu: ops.Activation("relu", alpha=0.2),
    activations.tanh: ops.Activation("tanh"),
    activations.sigmoid: ops.Activation("sigmoid"),
    activations.elu: ops.Activation("elu", alpha=1.0),
    activations.selu: ops.Activation("selu"),
    activations.gelu: ops.Activation("gelu"),
    activations.silu: ops.Activation("silu"),
    activations.softplus: ops.Activation("softplus"),
    activations.softsign: ops.Activation("softsign"),
    activations.exponential: ops.Activation("exponential"),
    activations.hard_sigmoid: ops.Activation("hard_sigmoid"),
    activations.hard_silu: ops.Activation("hard_silu"),
}
_KNOWN = (
    *sorted(function.__name__ for function in _FUNCTIONS),
    *("linear", "softmax", "ReLU", "LeakyReLU", "ELU", "Softmax"),
)


def add_activation(
    building: Building,
    function: Any,  # noqa: ANN401 (a function or a layer)
    tensor: Tensor,
    name: str,
    alone: bool = False,
) -> Tensor:
    """`alone`: it is the layer itself, else what comes after another in one layer."""
    if function is activations.linear:
        return tensor
    if function is activations.softmax:
        return add_softmax(building, -1, tensor, name if alone else f"{name}/softmax")
    if isinstance(function, layers.Activation):
        return add_activation(building, function.activation, tensor, name, alone)
    if isinstance(function, layers.Softmax):
        return add_softmax(building, function.axis, tensor, f"{name}/softmax")
    op = _as_op(function, name)
    called = name if alone else f"{name}/{op.kind}"
    return Tensor(building.add(called, op, tensor.value), tensor.order)


def add_softmax(building: Building, axis: int, tensor: Tensor, name: str) -> Tensor:
    """The axis counts the batch, as in Keras."""
    rank = len(tensor.order)
    place = tensor.order.index((axis if axis >= 0 else axis + rank + 1) - 1)
    return Tensor(building.add(name, ops.Softmax(place), tensor.value), tensor.order)


def _as_op(function: Any, name: str) -> ops.Activation:  # noqa: ANN401
    if type(function) is layers.ReLU:
        return _relu(function, name)
    if type(function) is layers.LeakyReLU:
        return ops.Activation("relu", alpha=float(function.negative_slope))
    if type(function) is layers.ELU:
        return ops.Activation("elu", alpha=float(function.alpha))
    try:
        return _FUNCTIONS[function]
    except (KeyError, TypeError):
        called = getattr(function, "__name__", type(function).__name__)
        raise unsupported(f"with the activation {called}", name, _KNOWN) from None


def _relu(layer: Any, name: str) -> ops.Activation:  # noqa: ANN401
    if layer.threshold:
        raise unsupported(f"a ReLU with a threshold of {layer.threshold}", name, ("0",))
    limit = 0.0 if layer.max_value is None else float(layer.max_value)
    if layer.max_value is not None and limit <= 0:
        raise unsupported(f"a ReLU with a max_value of {limit}", name, ("more than 0",))
    return ops.Activation("relu", alpha=float(layer.negative_slope), limit=limit)
