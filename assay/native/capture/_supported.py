"""Check that a layer and its call are supported; an error names what is not.

A layer is captured by its class only if nothing else determines its result: no argument of the
call, no method of its own, no setting newer than its capture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import layers
from keras.src.applications.convnext import LayerScale, StochasticDepth
from keras.src.applications.inception_resnet_v2 import CustomScaleLayer

from assay.native.capture import unsupported

# Settings that capture reads, by class; those used only in training follow.
SETTINGS: dict[type, str] = {
    layers.Activation: "activation",
    layers.AveragePooling2D: "pool_size padding strides data_format",
    layers.BatchNormalization: "axis epsilon center scale",
    layers.Concatenate: "axis",
    layers.Conv2DTranspose: "filters kernel_size strides padding output_padding data_format "
    "dilation_rate activation use_bias",
    layers.Cropping2D: "cropping data_format",
    layers.Conv2D: "filters kernel_size strides padding data_format dilation_rate groups "
    "activation use_bias",
    layers.Dense: "units activation use_bias",
    layers.DepthwiseConv2D: "depth_multiplier kernel_size strides padding data_format "
    "dilation_rate activation use_bias",
    layers.ELU: "alpha",
    layers.Embedding: "input_dim output_dim mask_zero",
    layers.Flatten: "data_format",
    layers.GlobalAveragePooling2D: "data_format keepdims",
    layers.GlobalMaxPooling2D: "data_format keepdims",
    layers.GroupNormalization: "groups axis epsilon center scale",
    layers.LayerNormalization: "axis epsilon center scale rms_scaling",
    layers.LeakyReLU: "negative_slope",
    layers.MaxPooling2D: "pool_size padding strides data_format",
    layers.MultiHeadAttention: "num_heads key_dim value_dim use_bias use_gate output_shape "
    "attention_axes",
    layers.Normalization: "axis invert mean variance",
    layers.Permute: "dims",
    layers.RMSNormalization: "axis epsilon",
    layers.ReLU: "max_value negative_slope threshold",
    layers.Rescaling: "scale offset",
    layers.Reshape: "target_shape",
    layers.SeparableConv2D: "depth_multiplier filters kernel_size strides padding data_format "
    "dilation_rate activation use_bias",
    layers.Softmax: "axis",
    layers.SpatialDropout2D: "data_format",
    layers.UpSampling2D: "size data_format interpolation",
    layers.ZeroPadding2D: "padding data_format",
    CustomScaleLayer: "scale",
    LayerScale: "init_values projection_dim",
    StochasticDepth: "drop_path_rate",
}
# Called with separate inputs, not with a list.
BY_POSITION = {layers.MultiHeadAttention}
IDLE = {"name", "trainable", "dtype", "rate", "stddev", "seed", "noise_shape", "momentum"}
IDLE |= {"dropout", "synchronized", "renorm_momentum", "l1", "l2"}
IDLE_ENDINGS = ("_initializer", "_regularizer", "_constraint")

METHODS = {"call", "__call__", "symbolic_call", "quantized_call", "rematerialized_call"}
METHODS |= {"_run_through_graph", "forward"}  # the last is called on PyTorch
# Arguments of a call that handlers take.
KEYWORDS = {layers.MultiHeadAttention: {"use_causal_mask"}}


def check_call(layer: Any, node: Any, name: str) -> None:
    """A supported call has only tensors, as one argument or as a list, and is for inference."""
    for key, value in node.arguments.kwargs.items():
        unset = all(value is None for value in keras.tree.flatten(value))
        supported = isinstance(value, bool) and key in KEYWORDS.get(type(layer), ())
        if not unset and not supported and not (key == "training" and value is False):
            raise unsupported(f"called with {key}={_format_value(value)}", name, ("inputs alone",))
    for value in _arguments_of(layer, node, name):
        if not isinstance(value, keras.KerasTensor):
            what = f"called with a {type(value).__name__}"
            raise unsupported(what, name, ("tensors of the model",))
    check_results(node, name)


def check_results(node: Any, name: str, kinds: Sequence[str] = ("float32",)) -> None:
    for tensor in node.output_tensors:
        if tensor.dtype not in kinds:
            raise unsupported(f"giving {tensor.dtype}", name, ("float32",))


def check_masks(node: Any, name: str) -> None:
    """Masks are refused: they change later layers, and the graph has none."""
    for tensor in node.output_tensors:
        if getattr(tensor, "_keras_mask", None) is not None:
            raise unsupported("handing on a mask", name, ("layers without masks",))


def _arguments_of(layer: Any, node: Any, name: str) -> Sequence[Any]:
    """A layer has one argument, which may be a list; some have several."""
    args: Sequence[Any] = node.arguments.args
    if type(layer) in BY_POSITION:
        return args
    if len(args) != 1:
        raise unsupported(f"called with {len(args)} arguments", name, ("inputs alone",))
    return args[0] if isinstance(args[0], list | tuple) else args


def check_model(model: Any, name: str) -> None:
    """The model must not override Keras' call of its layers."""
    base = keras.Sequential if isinstance(model, keras.Sequential) else keras.src.models.Functional
    if _overrides_method(model, base):
        what = f"a {type(model).__name__} with a call of its own"
        raise unsupported(what, name, ("sequential and functional models",))


def check_custom(layer: Any, node: Any, name: str) -> None:
    """A custom layer may override only `call`, and is called with tensors alone."""
    for key, value in node.arguments.kwargs.items():
        if key == "training" and value not in (None, False):
            raise unsupported(
                f"called with training={_format_value(value)}", name, ("inputs alone",)
            )
    kwargs = {key: value for key, value in node.arguments.kwargs.items() if key != "training"}
    for value in keras.tree.flatten((node.arguments.args, kwargs)):
        if value is not None and not isinstance(value, keras.KerasTensor):
            raise unsupported(
                f"called with {_format_value(value)}", name, ("tensors of the model",)
            )
    for method in METHODS - {"call"}:
        holder = next((kind for kind in type(layer).__mro__ if method in vars(kind)), None)
        if holder is not None and not holder.__module__.startswith(("keras.", "torch.")):
            what = f"a {type(layer).__name__} with a {method} of its own"
            raise unsupported(what, name, ("a call of its own alone",))
    check_layer(layer, name)
    check_results(node, name)


def check_layer(layer: Any, name: str) -> None:
    kind = type(layer).__name__
    if _overrides_method(layer, type(layer)):
        raise unsupported(f"a {kind} with a call of its own", name, (kind,))
    if layer.dtype_policy.quantization_mode is not None:
        what = f"a {kind} quantized to {layer.dtype_policy.quantization_mode}"
        raise unsupported(what, name, ("layers that are not quantized",))
    if getattr(layer, "lora_enabled", False):
        raise unsupported(f"a {kind} with lora", name, (f"a {kind} with its own weights alone",))
    if layer.compute_dtype != "float32":
        raise unsupported(f"a {kind} that computes in {layer.compute_dtype}", name, ("float32",))


def check_settings(layer: Any, name: str) -> None:
    """A later Keras may add settings; those that are off change nothing."""
    known = {*SETTINGS.get(type(layer), "").split(), *IDLE}
    for key, value in layer.get_config().items():
        idle = key in known or key.endswith(IDLE_ENDINGS)
        if not idle and value is not None and value is not False:
            what = f"a {type(layer).__name__} with {key}={_format_value(value)}"
            raise unsupported(what, name, tuple(sorted(known - IDLE)) or ("none",))


def _overrides_method(layer: Any, base: type) -> bool:
    kind = type(layer)
    return any(
        getattr(kind, method, None) is not getattr(base, method, None) or method in vars(layer)
        for method in METHODS
    )


def _format_value(value: Any) -> str:
    text = f"a {type(value).__name__}" if isinstance(value, keras.KerasTensor) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
