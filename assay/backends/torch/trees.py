"""Trees of tensors, as models take and return them: move, call with, sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from assay.backends import options
from assay.core import fingerprint


def place(
    tree: Any,
    device: torch.device,
    floating: torch.dtype | None,
    layout: torch.memory_format,
) -> Any:
    """Move to the device, floating point in that dtype, images in that layout."""
    if isinstance(tree, Mapping):
        return {name: place(part, device, floating, layout) for name, part in tree.items()}
    if isinstance(tree, tuple):
        return tuple(place(part, device, floating, layout) for part in tree)
    if tree is None or isinstance(tree, bool):
        return tree
    tensor = torch.as_tensor(tree)
    own = torch.float32 if tensor.dtype == torch.float64 else tensor.dtype
    dtype = floating if floating and tensor.is_floating_point() else own
    memory = layout if tensor.ndim == 4 else torch.preserve_format
    return tensor.to(device, dtype, memory_format=memory)


def caller(model: Callable[..., Any], inputs: Any) -> Callable[[Any], Any]:
    """A call with such inputs: a tuple by position, a dict by name."""
    if isinstance(inputs, Mapping):
        return lambda inputs: model(**inputs)
    if isinstance(inputs, tuple):
        return lambda inputs: model(*inputs)
    return lambda inputs: model(inputs)


def tensors(tree: Any) -> Iterator[torch.Tensor]:
    """All tensors in it; other objects, such as a cache that a model returns, are skipped."""
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, Mapping):
        for part in tree.values():
            yield from tensors(part)
    elif isinstance(tree, tuple | list):
        for part in tree:
            yield from tensors(part)


def dtype(*trees: Any) -> torch.dtype:
    """Of the first floating-point tensor, else of the first."""
    dtypes = [tensor.dtype for tensor in tensors(trees)]
    return next((kind for kind in dtypes if kind.is_floating_point), dtypes[0])


def as_array(tree: Any) -> Any:
    """float32; several outputs are flattened and concatenated."""
    arrays = [tensor.detach().float().cpu() for tensor in tensors(tree)]
    joined = arrays[0] if len(arrays) == 1 else torch.cat([array.flatten() for array in arrays])
    return joined.numpy()


def sample_output(tree: Any) -> tuple[tuple[int, ...], Any]:
    """The shape and sampled values of an output; several are concatenated first."""
    leaves = list(tensors(tree))
    if len(leaves) != 1:
        array = as_array(tree)
        return array.shape, array[fingerprint.sample_indices(array.size)]
    flat = leaves[0].detach().reshape(-1)
    places = torch.from_numpy(fingerprint.sample_indices(flat.numel())).to(flat.device)
    return tuple(leaves[0].shape), flat[places].float().cpu().numpy()


def vary(tree: Any, number: int) -> Any:
    """The tree with other values, as `options.vary`, in the same layout."""
    if isinstance(tree, Mapping):
        return {name: vary(part, number) for name, part in tree.items()}
    if isinstance(tree, tuple | list):
        return type(tree)(vary(part, number) for part in tree)
    if not number or not isinstance(tree, torch.Tensor) or not tree.ndim:
        return tree
    rolled = torch.roll(tree, number, 0 if len(tree) > 1 else -1)
    if tree.is_floating_point():
        rolled = rolled * options.scale(number)
    return torch.empty_like(tree).copy_(rolled)


def first_item(tree: Any) -> Any:
    """A batch of one: the first row of every tensor."""
    if isinstance(tree, Mapping):
        return {name: first_item(part) for name, part in tree.items()}
    if isinstance(tree, tuple | list):
        return type(tree)(map(first_item, tree))
    return tree[:1] if isinstance(tree, torch.Tensor) else tree


def mean(outputs: Any, _: object) -> torch.Tensor:
    """The loss that a model returns, else the mean of floating-point outputs."""
    own = outputs.get("loss") if isinstance(outputs, Mapping) else None
    if own is not None:
        return own
    floating = [tensor for tensor in tensors(outputs) if tensor.is_floating_point()]
    return sum((tensor.float().mean() for tensor in floating[1:]), floating[0].float().mean())
