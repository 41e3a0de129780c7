"""A program of torch.export, with its example inputs in the requested sizes."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree

from assay.core.errors import UsageError
from assay.core.sessions import Job
from assay.workloads.user._program_text import RefusedError
from assay.workloads.user._torch_archive import check_archive, reason_of, weights_only


def job(path: str, shapes: Sequence[tuple[int, ...]], trust: bool) -> Job:
    program = _load(path) if trust else _load_as_data(path)
    args, kwargs = program.example_inputs or ((), {})
    leaves, structure = _pytree.tree_flatten((args, kwargs))
    if len(leaves) != len(shapes):
        raise UsageError(
            f"{path} was saved without the inputs it was exported with.",
            hint="torch.export.save keeps them; export it again with this torch.",
        )
    tensors = [_resize(leaf, shape) for leaf, shape in zip(leaves, shapes, strict=True)]
    args, kwargs = _pytree.tree_unflatten(tensors, structure)
    return Job(
        model=_Program(program.module(), len(args), tuple(kwargs)),
        loss="mean",
        train_batch=((*args, *kwargs.values()), ()),
        items=shapes[0][0] if shapes and shapes[0] else 1,
        trains=False,
        as_given=True,
    )


def _load_as_data(path: str) -> Any:
    """Without running code of its author: a file with more than data is refused."""
    try:
        check_archive(path)
        with weights_only():
            return _load(path)
    except RefusedError as error:
        reason = str(error)
    except pickle.UnpicklingError as error:
        reason = reason_of(error)
    raise UsageError(
        f"{path} is not loaded, because loading it could run code of its author: {reason}.",
        hint="If you trust whoever made it, add --trust (in Python: trust=True).",
    )


def _load(path: str) -> Any:
    try:
        return torch.export.load(path)
    except (RuntimeError, ValueError, KeyError, AttributeError, TypeError) as error:
        first = str(error).strip().partition("\n")[0]
        raise UsageError(
            f"torch {torch.__version__} cannot load {path} ({first}).",
            hint="Export it again with this version.",
        ) from None


def _resize(tensor: Any, shape: tuple[int, ...]) -> Any:
    """Repeat or cut its values along every axis of another size, so that tokens stay within their
    table."""
    for axis, size in enumerate(shape):
        indices = torch.arange(size) % tensor.shape[axis]
        tensor = tensor.index_select(axis, indices) if size != tensor.shape[axis] else tensor
    return tensor


class _Program(nn.Module):  # type: ignore[misc]
    """An exported module, which has only one mode, called with all inputs by position."""

    def __init__(self, inner: nn.Module, count: int, names: tuple[str, ...]) -> None:
        super().__init__()
        self._inner, self._count, self._names = inner, count, names

    def train(self, mode: bool = True) -> _Program:
        return self

    def forward(self, *values: Any) -> Any:
        kwargs = dict(zip(self._names, values[self._count :], strict=True))
        return self._inner(*values[: self._count], **kwargs)
