"""Run a built model in this process, by ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.core.errors import AssayError
from assay.native.build import ModelFiles
from assay.native.emit import ModelSource
from assay.native.toolchain import Kernels

Array = np.ndarray[Any, Any]

_ALLOWED: dict[Kernels, int] = {"auto": 0, "portable": 1, "onednn": 2}
_FLOATS = ctypes.POINTER(ctypes.c_float)


class LoadedModel:
    """An engine for batches of up to `batch` images."""

    def __init__(
        self,
        built: ModelFiles,
        emitted: ModelSource,
        batch: int,
        threads: int,
        kernels: Kernels = "auto",
        seconds: float = 1.0,  # for choosing kernels; 0: a guess
    ) -> None:
        self._library = _declare_functions(ctypes.CDLL(str(built.library)))
        self._emitted = emitted
        self._engine = self._library.assay_open(
            str(built.weights).encode(), batch, threads, _ALLOWED[kernels], seconds
        )
        if not self._engine:
            raise AssayError(self._library.assay_mistake().decode())

    @property
    def kernels(self) -> tuple[str, ...]:
        """Kernel of each layer, in order."""
        return tuple(self._library.assay_kernels(self._engine).decode().split())

    @property
    def at_once(self) -> int:
        """Images that one thread computes together."""
        return int(self._library.assay_at_once(self._engine))

    def bind(self, *inputs: Array) -> tuple[Any, tuple[Array, ...]]:
        """A call without arguments that computes these inputs, and the output arrays it fills.

        Images are in the model's own order, float32 and contiguous.
        """
        images = len(inputs[0])
        outputs = tuple(np.empty((images, *shape), np.float32) for shape in self._emitted.outputs)
        step = self._library.assay_step
        arguments = (
            ctypes.c_void_p(self._engine),
            _pointers(inputs),
            ctypes.c_int(any(self._emitted.channels_last)),
            _pointers(outputs),
            ctypes.c_long(images),
        )

        def call(arrays: object = (inputs, outputs)) -> None:  # the arrays live as long as this
            if step(*arguments):
                raise AssayError(self._library.assay_mistake().decode())

        return call, outputs

    def run(self, *inputs: Array) -> tuple[Array, ...]:
        call, outputs = self.bind(*(np.ascontiguousarray(array, np.float32) for array in inputs))
        call()
        return outputs

    def close(self) -> None:
        if self._engine:
            self._library.assay_close(self._engine)
            self._engine = None


def _pointers(arrays: Sequence[Array]) -> Any:
    return (_FLOATS * len(arrays))(*(array.ctypes.data_as(_FLOATS) for array in arrays))


def _declare_functions(library: Any) -> Any:
    pointer = ctypes.c_void_p
    library.assay_open.restype = pointer
    library.assay_open.argtypes = [
        *(ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int, ctypes.c_double)
    ]
    library.assay_mistake.restype = ctypes.c_char_p
    library.assay_step.restype = ctypes.c_int
    float_arrays = ctypes.POINTER(_FLOATS)
    library.assay_step.argtypes = [pointer, float_arrays, ctypes.c_int, float_arrays, ctypes.c_long]
    library.assay_kernels.restype = ctypes.c_char_p
    library.assay_kernels.argtypes = library.assay_close.argtypes = [pointer]
    library.assay_at_once.restype = ctypes.c_long
    library.assay_at_once.argtypes = [pointer]
    library.assay_close.restype = None
    return library
