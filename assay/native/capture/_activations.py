"""Capture Keras activations, as functions or as layers."""

from __future__ import annotations

from typing import Any

from keras import activations, layers

from assay.native import ops
from assay.native.capture import unsupported
from assay.native.capture._supported import check_layer
from assay.native.graph_builder import GraphBuilder, Tensor

_FUNCTIONS: dict[Any, ops.ActivationOp] = {
    activations.relu: ops.ActivationOp("relu"),
    activations.relu6: ops.ActivationOp("relu", limit=6.0),
    activations.leaky_relu: ops.ActivationOp("relu", alpha=0.2),
    activations.tanh: ops.ActivationOp("tanh"),
    activations.sigmoid: ops.ActivationOp("sigmoid"),
    activations.elu: ops.ActivationOp("elu", alpha=1.0),
    activations.selu: ops.ActivationOp("selu"),
    activations.gelu: ops.ActivationOp("gelu"),
    activations.silu: ops.ActivationOp("silu"),
    activations.softplus: ops.ActivationOp("softplus"),
    activations.softsign: ops.ActivationOp("softsign"),
    activations.exponential: ops.ActivationOp("exponential"),
    activations.hard_sigmoid: ops.ActivationOp("hard_sigmoid"),
    activations.hard_silu: ops.ActivationOp("hard_silu"),
    activations.mish: ops.ActivationOp("mish"),
}
_KNOWN = (
    *sorted(function.__name__ for function in _FUNCTIONS),
    *("linear", "softmax", "ReLU", "LeakyReLU", "ELU", "Softmax"),
)


def add_activation(
    builder: GraphBuilder, function: Any, tensor: Tensor, name: str, alone: bool = False
) -> Tensor:
    """`alone`: the activation is the layer itself, not the end of another layer."""
    if function is activations.linear:
        return tensor
    if function is activations.softmax:
        return add_softmax(builder, -1, tensor, name if alone else f"{name}/softmax")
    if isinstance(function, layers.Layer) and not alone:
        check_layer(function, name)
    if type(function) is layers.Activation:
        return add_activation(builder, function.activation, tensor, name, alone)
    if type(function) is layers.Softmax and isinstance(function.axis, int):
        return add_softmax(builder, function.axis, tensor, f"{name}/softmax")
    op = _as_op(function, name)
    op_name = name if alone else f"{name}/{op.kind}"
    return Tensor(builder.add(op_name, op, tensor.value), tensor.order)


def add_softmax(builder: GraphBuilder, axis: int, tensor: Tensor, name: str) -> Tensor:
    """The axis counts the batch, as in Keras."""
    rank = len(tensor.order)
    position = tensor.order.index((axis if axis >= 0 else axis + rank + 1) - 1)
    return Tensor(builder.add(name, ops.SoftmaxOp(position), tensor.value), tensor.order)


def _as_op(function: Any, name: str) -> ops.ActivationOp:
    if type(function) is layers.ReLU:
        return _relu(function, name)
    if type(function) is layers.LeakyReLU:
        return ops.ActivationOp("relu", alpha=float(function.negative_slope))
    if type(function) is layers.ELU:
        return ops.ActivationOp("elu", alpha=float(function.alpha))
    try:
        return _FUNCTIONS[function]
    except (KeyError, TypeError):
        function_name = getattr(function, "__name__", type(function).__name__)
        raise unsupported(f"with the activation {function_name}", name, _KNOWN) from None


def _relu(layer: Any, name: str) -> ops.ActivationOp:
    if layer.threshold:
        raise unsupported(f"a ReLU with a threshold of {layer.threshold}", name, ("0",))
    limit = 0.0 if layer.max_value is None else float(layer.max_value)
    if layer.max_value is not None and limit <= 0:
        raise unsupported(f"a ReLU with a max_value of {limit}", name, ("more than 0",))
    return ops.ActivationOp("relu", alpha=float(layer.negative_slope), limit=limit)
