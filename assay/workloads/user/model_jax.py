"""A bare JAX model as (apply, params) or (apply, params, state): a pair, a module, a function."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from assay.core.errors import UsageError
from assay.workloads.user.model import Bare

EXAMPLES = ()
LIKE = "jnp.zeros((2, 32, 32, 3))"
_MODES = {"train": True, "training": True, "deterministic": False}  # arguments in training


def _streams(seed: int) -> Any:
    """Flax' streams of keys."""
    from flax import nnx

    return nnx.Rngs(seed)


# Argument name → its value for a seed.
randomness: dict[str, Callable[[int], Any]] = {"key": jax.random.key, "rngs": _streams}


def infer_inputs(model: Any, size: int) -> Any:
    return None  # parameters do not show the shape of inputs


def model(bare: Bare, inputs: Any) -> tuple[Any, ...]:
    network = bare.model
    if bare.itself:
        return _open_function(network), []
    if isinstance(network, tuple) and len(network) == 2 and callable(network[0]):
        return _open_pair(*network)
    if isinstance(network, tuple) and len(network) == 3 and callable(network[0]):
        return network
    if _is_a(network, "flax.linen", "Module"):
        return _open_linen_module(network, inputs, int(bare.params["seed"]))
    if _is_a(network, "flax.nnx", "Module"):
        return _open_nnx(network)
    if _is_a(network, "equinox", "Module"):
        return _open_equinox(network)
    raise UsageError(
        f"{bare.maker.__name__} gave a {type(network).__name__}, which jax cannot open.",
        hint="Return (function, parameters), a module of flax or equinox, or an assay.Job.",
    )


def _is_a(thing: object, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(thing, kind)


def _call(function: Callable[..., Any], inputs: Any, *first: Any, **more: object) -> Any:
    if isinstance(inputs, Mapping):
        return function(*first, **inputs, **more)
    return function(*first, *(inputs if isinstance(inputs, tuple) else (inputs,)), **more)


def _takes(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


def _open_function(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda params, inputs, key=None: _call(function, inputs)


def _open_pair(function: Callable[..., Any], params: Any) -> tuple[Any, Any]:
    keyed = "key" in _takes(function)
    trained, whole = _split(params)

    def apply(params: Any, inputs: Any, key: Any = None) -> Any:
        return _call(function, inputs, whole(params), **({"key": key} if keyed else {}))

    return apply, trained


def _split(tree: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The floating-point arrays of a tree, which are trained, and a function to replace them."""
    leaves, shape = jax.tree.flatten(tree)
    trained = [_floating(leaf) for leaf in leaves]

    def whole(new: list[Any]) -> Any:
        replacements = iter(new)
        mixed = [
            next(replacements) if ours else leaf for ours, leaf in zip(trained, leaves, strict=True)
        ]
        return jax.tree.unflatten(shape, mixed)

    own = [jnp.asarray(leaf) for ours, leaf in zip(trained, leaves, strict=True) if ours]
    return own, whole


def _floating(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jnp.floating)


def _open_equinox(network: Any) -> tuple[Any, Any]:
    """Its modules take one item, so they are vmapped over the batch."""
    trained, whole = _split(network)
    keyed = "key" in _takes(type(network).__call__)

    def apply(params: Any, inputs: Any, key: Any = None) -> Any:
        module = whole(params)
        rows = len(jax.tree.leaves(inputs)[0])
        if keyed and key is not None:
            keys = jax.random.split(key, rows)
            return jax.vmap(lambda item, own: _call(module, item, key=own))(inputs, keys)
        return jax.vmap(lambda item: _call(module, item))(inputs)

    return apply, trained


def _open_linen_module(network: Any, inputs: Any, seed: int) -> tuple[Any, ...]:
    """Parameters, and other variables such as running averages as the state."""
    modes = _MODES.keys() & _takes(type(network).__call__)

    def mode_arguments(train: bool) -> dict[str, bool]:
        return {name: _MODES[name] == train for name in modes}

    variables = dict(_call(network.init, inputs, jax.random.key(seed), **mode_arguments(False)))
    params = variables.pop("params", {})

    def apply(params: Any, inputs: Any, key: Any = None, state: Any = None) -> Any:
        whole = {"params": params, **(state or {})}
        more: dict[str, Any] = {
            **mode_arguments(key is not None),
            "rngs": {"dropout": key} if key is not None else {},
        }
        if state is None:
            return _call(network.apply, inputs, whole, **more)
        outputs, new = _call(network.apply, inputs, whole, mutable=list(state), **more)
        return outputs, dict(new)

    return (apply, params, variables) if variables else (apply, params)


def _open_nnx(network: Any) -> tuple[Any, ...]:
    from flax import nnx

    shape, params, rest = _nnx_parts(network)

    def apply(params: Any, inputs: Any, key: Any = None, state: Any = None) -> Any:
        module = nnx.merge(shape, params, state, copy=True)  # a copy, which the trace may change
        if key is None and hasattr(module, "eval"):
            module.eval()
        outputs = _call(module, inputs)
        return outputs, _nnx_parts(module)[2]

    return apply, params, rest


def _nnx_parts(module: Any) -> tuple[Any, Any, Any]:
    """Its graph definition, its parameters, and its other state."""
    from flax import nnx

    parts: tuple[Any, Any, Any] = nnx.split(module, nnx.Param, ...)
    return parts
