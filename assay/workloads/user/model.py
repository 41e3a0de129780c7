"""A user's bare model, which comes without a batch or a loss, made into a job. In a worker only.

Inputs come from the `example` its file names: an array, a tuple (arguments in their order), a dict
(arguments by name), or a function of the batch size that returns one. A loss is a function `loss`
of the outputs, and of `targets` or the inputs where it takes a second argument.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from assay.core.errors import UsageError
from assay.core.records import Value
from assay.core.sessions import Job

RANDOM = frozenset({"key", "rngs"})  # arguments by which a framework hands out randomness
MEAN = "mean"  # Job.loss where there is none: of all outputs that are floating point


class Bare(NamedTuple):
    """A model, and where to look for what belongs to it."""

    made: Any
    maker: Any  # the class or function it is made by
    module: Any  # of the user's file
    kind: str
    params: Mapping[str, Value]
    itself: bool = False  # the function is the model: nothing in it is trained


def job(bare: Bare) -> Job:
    framework = _framework(bare.kind)
    if hasattr(framework, "job"):
        made: Job = framework.job(bare)
        return made
    inputs = inputs_of(bare)
    guessed = inputs is None
    if guessed:
        inputs = framework.guessed(bare.made, _size(bare))
    if inputs is None:
        raise no_example(bare)
    loss, targets, said = _loss(bare, inputs)
    taken = (said, "its inputs are vectors as its first layer takes them" if guessed else "")
    return Job(
        model=framework.model(bare, inputs),
        loss=loss,
        train_batch=(inputs, targets),
        items=rows(inputs),
        trains=not bare.itself,
        as_given=True,
        facts={"assumed": "; ".join(filter(None, taken))},
    )


def arguments(maker: Callable[..., Any], kind: str, params: Mapping[str, Value]) -> dict[str, Any]:
    """Those of its arguments that assay knows: parameters, and where JAX gets its randomness."""
    taken = inspect.signature(maker).parameters
    given: dict[str, Any] = {name: params[name] for name in taken if name in params}
    if RANDOM & set(taken):
        supplied = getattr(_framework(kind), "randomness", {})
        given |= {n: supplied[n](int(params["seed"])) for n in taken if n in supplied}
    return given


def inputs_of(bare: Bare) -> Any:
    """What the file names as an example, or None."""
    named = _named(bare, "example")
    for name in _framework(bare.kind).EXAMPLES:
        named = getattr(bare.made, name, None) if named is None else named
    if named is None:
        return None
    if callable(named) and not hasattr(named, "shape"):
        return _checked(_called(named, bare), bare)
    found = _checked(named, bare)
    size = int(bare.params.get("batch_size", 0))
    return _each(found, lambda leaf: _of_rows(leaf, size)) if size else found


def _framework(kind: str) -> Any:
    """What knows the models of a framework."""
    return import_module(f"assay.workloads.user.model_{kind}")


def _named(bare: Bare, name: str) -> Any:
    """Of the class or function, else of the file; a method is bound to the model."""
    found = getattr(bare.maker, name, None)
    if inspect.isfunction(found) and next(iter(inspect.signature(found).parameters), "") == "self":
        return found.__get__(bare.made)
    return getattr(bare.module, name, None) if found is None else found


def _called(function: Callable[..., Any], bare: Bare) -> Any:
    """By name what it names; a single argument of another name is the batch size."""
    taken = inspect.signature(function).parameters
    given = {name: bare.params[name] for name in taken if name in bare.params}
    lacking = [
        name for name, one in taken.items() if one.default is one.empty and name not in given
    ]
    if len(lacking) == 1:
        given[lacking[0]] = _size(bare)
    return function(**given)


def _checked(found: Any, bare: Bare) -> Any:
    """Lists are arrays; floating point is float32, as weights are; anything else is refused."""
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

    return _each(found, array)


def _each(found: Any, function: Callable[[Any], Any]) -> Any:
    """Of every array in tuples and dicts."""
    if isinstance(found, Mapping):
        return {name: _each(part, function) for name, part in found.items()}
    if isinstance(found, tuple):
        return tuple(_each(part, function) for part in found)
    return function(found)


def _of_rows(leaf: Any, size: int) -> Any:
    """So many rows: those there are, again and again."""
    import numpy as np

    if not getattr(leaf, "shape", ()):
        return leaf
    rows = np.arange(size) % leaf.shape[0]
    if hasattr(leaf, "index_select"):  # a tensor of torch, which numpy may not have the dtype of
        return leaf[rows]
    return np.asarray(leaf)[rows]


def rows(inputs: Any) -> int:
    """What a step handles: the first axis of the first input."""
    found: list[int] = []
    _each(inputs, lambda leaf: found.extend(getattr(leaf, "shape", ())[:1]))
    return int(found[0]) if found else 1


def _size(bare: Bare) -> int:
    return int(bare.params.get("batch_size", 0)) or 1


def _loss(bare: Bare, inputs: Any) -> tuple[Any, Any, str]:
    """The loss as a function of outputs and targets, those targets, and what was assumed."""
    loss, targets = _named(bare, "loss"), _named(bare, "targets")
    if not callable(loss):
        return (
            MEAN,
            (),
            "" if bare.itself else "its loss is the mean of the outputs, as it names none",
        )
    if callable(targets) and not hasattr(targets, "shape"):
        targets = _called(targets, bare)
    second = inputs if targets is None else _checked(targets, bare)
    if len(inspect.signature(loss).parameters) == 1:
        return lambda outputs, _: loss(outputs), (), ""
    return loss, second, ""


def no_example(bare: Bare) -> UsageError:
    name = bare.maker.__name__
    return UsageError(
        f"{name} comes without an example, and what it takes cannot be told from it for certain.",
        hint=_line_to_add(bare),
    )


def _line_to_add(bare: Bare) -> str:
    made = _framework(bare.kind).LIKE
    if hasattr(bare.maker, "__assay_live__"):
        return f"Give one with the model: example={made}"
    return f"Add a line such as: {bare.maker.__name__}.example = {made}"
