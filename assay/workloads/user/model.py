"""The job of a user's bare model, which has no batch or loss. In a worker only.

Inputs come from `example` in its file: an array, a tuple (arguments by position), a dict (arguments
by name), or a function of the batch size that returns one. A loss is a function `loss` of the
outputs and, if it takes a second argument, of `targets` or the inputs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from assay.core.errors import UsageError
from assay.core.records import Value
from assay.core.sessions import Job

RANDOM = frozenset({"key", "rngs"})  # arguments for random keys
MEAN = "mean"  # default of Job.loss: of all floating-point outputs


class Bare(NamedTuple):
    """A model, and where to find its example, loss and targets."""

    model: Any
    maker: Any  # its class or function
    module: Any  # of the user's file
    kind: str
    params: Mapping[str, Value]
    itself: bool = False  # the function is the model, without parameters to train


def job(bare: Bare) -> Job:
    framework = _framework(bare.kind)
    if hasattr(framework, "job"):
        framework_job: Job = framework.job(bare)
        return framework_job
    inputs = inputs_of(bare)
    inferred = inputs is None
    if inferred:
        inputs = framework.infer_inputs(bare.model, _size(bare))
    if inputs is None:
        raise no_example(bare)
    loss, targets, assumed = _loss(bare, inputs)
    assumptions = (
        assumed,
        "its inputs are vectors as its first layer takes them" if inferred else "",
    )
    return Job(
        model=framework.model(bare, inputs),
        loss=loss,
        train_batch=(inputs, targets),
        items=rows(inputs),
        trains=not bare.itself,
        as_given=True,
        facts={"assumed": "; ".join(filter(None, assumptions))},
    )


def arguments(maker: Callable[..., Any], kind: str, params: Mapping[str, Value]) -> dict[str, Any]:
    """Arguments that assay supplies: parameters, and random keys of JAX."""
    accepted = inspect.signature(maker).parameters
    kwargs: dict[str, Any] = {name: params[name] for name in accepted if name in params}
    if RANDOM & set(accepted):
        supplied = getattr(_framework(kind), "randomness", {})
        kwargs |= {n: supplied[n](int(params["seed"])) for n in accepted if n in supplied}
    return kwargs


def inputs_of(bare: Bare) -> Any:
    """The example in the file, or None."""
    example = _attribute(bare, "example")
    for name in _framework(bare.kind).EXAMPLES:
        example = getattr(bare.model, name, None) if example is None else example
    if example is None:
        return None
    if callable(example) and not hasattr(example, "shape"):
        return _to_arrays(_call(example, bare), bare)
    leaves = _to_arrays(example, bare)
    size = int(bare.params.get("batch_size", 0))
    return _map_arrays(leaves, lambda leaf: _resize_rows(leaf, size)) if size else leaves


def _framework(kind: str) -> Any:
    """The module for models of a framework."""
    return import_module(f"assay.workloads.user.model_{kind}")


def _attribute(bare: Bare, name: str) -> Any:
    """An attribute of the class or function, else of the file; a method is bound to the model."""
    attribute = getattr(bare.maker, name, None)
    if (
        inspect.isfunction(attribute)
        and next(iter(inspect.signature(attribute).parameters), "") == "self"
    ):
        return attribute.__get__(bare.model)
    return getattr(bare.module, name, None) if attribute is None else attribute


def _call(function: Callable[..., Any], bare: Bare) -> Any:
    """Call with parameters by name; a single argument of another name is the batch size."""
    accepted = inspect.signature(function).parameters
    kwargs = {name: bare.params[name] for name in accepted if name in bare.params}
    missing = [
        name
        for name, parameter in accepted.items()
        if parameter.default is parameter.empty and name not in kwargs
    ]
    if len(missing) == 1:
        kwargs[missing[0]] = _size(bare)
    return function(**kwargs)


def _to_arrays(tree: Any, bare: Bare) -> Any:
    """Convert lists to arrays and float64 to float32; anything else is refused."""
    import numpy as np

    def array(leaf: Any) -> Any:
        if isinstance(leaf, list | float | int) and not isinstance(leaf, bool):
            leaf = np.asarray(leaf)
        if leaf is not None and not isinstance(leaf, bool) and not hasattr(leaf, "shape"):
            raise UsageError(
                f"The example of {bare.maker.__name__} holds a {type(leaf).__name__}, "
                "but has to be made of arrays.",
                hint=_line_to_add(bare),
            )
        double = isinstance(leaf, np.ndarray) and leaf.dtype == np.float64
        return leaf.astype(np.float32) if double else leaf

    return _map_arrays(tree, array)


def _map_arrays(tree: Any, function: Callable[[Any], Any]) -> Any:
    """Apply to every array in tuples and dicts."""
    if isinstance(tree, Mapping):
        return {name: _map_arrays(part, function) for name, part in tree.items()}
    if isinstance(tree, tuple):
        return tuple(_map_arrays(part, function) for part in tree)
    return function(tree)


def _resize_rows(leaf: Any, size: int) -> Any:
    """Repeat or cut rows to this size."""
    import numpy as np

    if not getattr(leaf, "shape", ()):
        return leaf
    rows = np.arange(size) % leaf.shape[0]
    if hasattr(leaf, "index_select"):  # a tensor of torch, whose dtype numpy may not have
        return leaf[rows]
    return np.asarray(leaf)[rows]


def rows(inputs: Any) -> int:
    """Items of a step: the first axis of the first input."""
    sizes: list[int] = []
    _map_arrays(inputs, lambda leaf: sizes.extend(getattr(leaf, "shape", ())[:1]))
    return int(sizes[0]) if sizes else 1


def _size(bare: Bare) -> int:
    return int(bare.params.get("batch_size", 0)) or 1


def _loss(bare: Bare, inputs: Any) -> tuple[Any, Any, str]:
    """The loss as a function of outputs and targets, those targets, and what was assumed."""
    loss, targets = _attribute(bare, "loss"), _attribute(bare, "targets")
    if not callable(loss):
        return (
            MEAN,
            (),
            "" if bare.itself else "its loss is the mean of the outputs, as it names none",
        )
    if callable(targets) and not hasattr(targets, "shape"):
        targets = _call(targets, bare)
    second = inputs if targets is None else _to_arrays(targets, bare)
    if len(inspect.signature(loss).parameters) == 1:
        return lambda outputs, _: loss(outputs), (), ""
    return loss, second, ""


def no_example(bare: Bare) -> UsageError:
    name = bare.maker.__name__
    return UsageError(
        f"{name} was given without an example, and its inputs cannot be inferred.",
        hint=_line_to_add(bare),
    )


def _line_to_add(bare: Bare) -> str:
    example = _framework(bare.kind).LIKE
    if hasattr(bare.maker, "__assay_live__"):
        return f"Give one with the model: example={example}"
    return f"Add a line such as: {bare.maker.__name__}.example = {example}"
