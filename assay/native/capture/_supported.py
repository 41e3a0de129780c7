"""What capture understands of a layer and of a call of it; everything else is refused, by name.

A layer is taken for its class only where nothing else decides what it computes: no argument of the
call, no method of its own, no setting that the class did not have when its capture was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import layers
from keras.src.applications.convnext import LayerScale, StochasticDepth
from keras.src.applications.inception_resnet_v2 import CustomScaleLayer

from assay.native.capture import unsupported

# Settings that capture reads, for each class; those of training only follow.
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
# Called with their inputs one by one, not as a list.
BY_POSITION = {layers.MultiHeadAttention}
IDLE = {"name", "trainable", "dtype", "rate", "stddev", "seed", "noise_shape", "momentum"}
IDLE |= {"dropout", "synchronized", "renorm_momentum", "l1", "l2"}
IDLE_ENDINGS = ("_initializer", "_regularizer", "_constraint")

METHODS = {"call", "__call__", "symbolic_call", "quantized_call", "rematerialized_call"}
METHODS |= {"_run_through_graph", "forward"}  # the last is called on PyTorch
# Arguments of a call that handlers take.
KEYWORDS = {layers.MultiHeadAttention: {"use_causal_mask"}}


def check_call(layer: Any, node: Any, name: str) -> None:
    """Tensors alone are given, as one argument or as a list; inference is all that is asked."""
    for key, value in node.arguments.kwargs.items():
        nothing = all(each is None for each in keras.tree.flatten(value))
        taken = isinstance(value, bool) and key in KEYWORDS.get(type(layer), ())
        if not nothing and not taken and not (key == "training" and value is False):
            raise unsupported(f"called with {key}={_shown(value)}", name, ("inputs alone",))
    for each in _given(layer, node, name):
        if not isinstance(each, keras.KerasTensor):
            what = f"called with a {type(each).__name__}"
            raise unsupported(what, name, ("tensors of the model",))
    check_results(node, name)


def check_results(node: Any, name: str, kinds: Sequence[str] = ("float32",)) -> None:
    for tensor in node.output_tensors:
        if tensor.dtype not in kinds:
            raise unsupported(f"giving {tensor.dtype}", name, ("float32",))


def check_masks(node: Any, name: str) -> None:
    """Layers after it would compute something else by a mask, which the graph does not have."""
    for tensor in node.output_tensors:
        if getattr(tensor, "_keras_mask", None) is not None:
            raise unsupported("handing on a mask", name, ("layers without masks",))


def _given(layer: Any, node: Any, name: str) -> Sequence[Any]:
    """A layer takes one argument, which may be a list; some take several."""
    given: Sequence[Any] = node.arguments.args
    if type(layer) in BY_POSITION:
        return given
    if len(given) != 1:
        raise unsupported(f"called with {len(given)} arguments", name, ("inputs alone",))
    return given[0] if isinstance(given[0], list | tuple) else given


def check_model(model: Any, name: str) -> None:
    """It computes what its layers say: Keras' own call of them is not replaced."""
    base = keras.Sequential if isinstance(model, keras.Sequential) else keras.src.models.Functional
    if _own_method(model, base):
        what = f"a {type(model).__name__} with a call of its own"
        raise unsupported(what, name, ("sequential and functional models",))


def check_opened(layer: Any, node: Any, name: str) -> None:
    """Its call is all that decides: Keras' call of it is Keras' own, and takes tensors alone."""
    for key, value in node.arguments.kwargs.items():
        if key == "training" and value not in (None, False):
            raise unsupported(f"called with training={_shown(value)}", name, ("inputs alone",))
    left = {key: held for key, held in node.arguments.kwargs.items() if key != "training"}
    for each in keras.tree.flatten((node.arguments.args, left)):
        if each is not None and not isinstance(each, keras.KerasTensor):
            raise unsupported(f"called with {_shown(each)}", name, ("tensors of the model",))
    for method in METHODS - {"call"}:
        holder = next((kind for kind in type(layer).__mro__ if method in vars(kind)), None)
        if holder is not None and not holder.__module__.startswith(("keras.", "torch.")):
            what = f"a {type(layer).__name__} with a {method} of its own"
            raise unsupported(what, name, ("a call of its own alone",))
    check_layer(layer, name)
    check_results(node, name)


def check_layer(layer: Any, name: str) -> None:
    kind = type(layer).__name__
    if _own_method(layer, type(layer)):
        raise unsupported(f"a {kind} with a call of its own", name, (kind,))
    if layer.dtype_policy.quantization_mode is not None:
        what = f"a {kind} quantized to {layer.dtype_policy.quantization_mode}"
        raise unsupported(what, name, ("layers that are not quantized",))
    if getattr(layer, "lora_enabled", False):
        raise unsupported(f"a {kind} with lora", name, (f"a {kind} with its own weights alone",))
    if layer.compute_dtype != "float32":
        raise unsupported(f"a {kind} that computes in {layer.compute_dtype}", name, ("float32",))


def check_settings(layer: Any, name: str) -> None:
    """A later Keras may have settings that this one has not; what is off changes nothing."""
    known = {*SETTINGS.get(type(layer), "").split(), *IDLE}
    for key, value in layer.get_config().items():
        idle = key in known or key.endswith(IDLE_ENDINGS)
        if not idle and value is not None and value is not False:
            what = f"a {type(layer).__name__} with {key}={_shown(value)}"
            raise unsupported(what, name, tuple(sorted(known - IDLE)) or ("none",))


def _own_method(layer: Any, base: type) -> bool:
    kind = type(layer)
    return any(
        getattr(kind, method, None) is not getattr(base, method, None) or method in vars(layer)
        for method in METHODS
    )


def _shown(value: Any) -> str:
    text = f"a {type(value).__name__}" if isinstance(value, keras.KerasTensor) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
