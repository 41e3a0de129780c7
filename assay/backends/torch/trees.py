"""Tensors in tuples and dicts, as models take and give them: placed, called with, looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from assay.core import fingerprint


def placed(
    tree: Any,
    device: torch.device,
    floating: torch.dtype | None,
    layout: torch.memory_format,
) -> Any:
    """On the device, floating point in that dtype, pictures in that layout."""
    if isinstance(tree, Mapping):
        return {name: placed(part, device, floating, layout) for name, part in tree.items()}
    if isinstance(tree, tuple):
        return tuple(placed(part, device, floating, layout) for part in tree)
    if tree is None or isinstance(tree, bool):
        return tree
    given = torch.as_tensor(tree)
    own = torch.float32 if given.dtype == torch.float64 else given.dtype
    dtype = floating if floating and given.is_floating_point() else own
    memory = layout if given.ndim == 4 else torch.preserve_format
    return given.to(device, dtype, memory_format=memory)


def caller(model: Callable[..., Any], inputs: Any) -> Callable[[Any], Any]:
    """The call that fits such inputs: a tuple in its order, a dict by name."""
    if isinstance(inputs, Mapping):
        return lambda inputs: model(**inputs)
    if isinstance(inputs, tuple):
        return lambda inputs: model(*inputs)
    return lambda inputs: model(inputs)


def tensors(tree: Any) -> Iterator[torch.Tensor]:
    """All in it; what is none, as a cache a model gives back, is passed over."""
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, Mapping):
        for part in tree.values():
            yield from tensors(part)
    elif isinstance(tree, tuple | list):
        for part in tree:
            yield from tensors(part)


def dtype(*trees: Any) -> torch.dtype:
    """Of the first floating point there is; else of whatever there is."""
    found = [one.dtype for one in tensors(trees)]
    return next((kind for kind in found if kind.is_floating_point), found[0])


def as_array(tree: Any) -> Any:
    """float32; several outputs as one row of numbers."""
    arrays = [one.detach().float().cpu() for one in tensors(tree)]
    one = arrays[0] if len(arrays) == 1 else torch.cat([array.flatten() for array in arrays])
    return one.numpy()


def sampled(tree: Any) -> tuple[tuple[int, ...], Any]:
    """The shape, and some of one output; of several, of their row of numbers."""
    found = list(tensors(tree))
    if len(found) != 1:
        whole = as_array(tree)
        return whole.shape, whole[fingerprint.places(whole.size)]
    flat = found[0].detach().reshape(-1)
    places = torch.from_numpy(fingerprint.places(flat.numel())).to(flat.device)
    return tuple(found[0].shape), flat[places].float().cpu().numpy()


def first_item(tree: Any) -> Any:
    """A batch of one: the first row of every tensor."""
    if isinstance(tree, Mapping):
        return {name: first_item(part) for name, part in tree.items()}
    if isinstance(tree, tuple | list):
        return type(tree)(map(first_item, tree))
    return tree[:1] if isinstance(tree, torch.Tensor) else tree


def mean(outputs: Any, _: object) -> torch.Tensor:
    """The loss a model gives itself, else the mean of all that is floating point."""
    own = outputs.get("loss") if isinstance(outputs, Mapping) else None
    if own is not None:
        return own
    floating = [one for one in tensors(outputs) if one.is_floating_point()]
    return sum((one.float().mean() for one in floating[1:]), floating[0].float().mean())
