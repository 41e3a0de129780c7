"""Keras on PyTorch: the step is the train function over a batch that is on the device."""

from __future__ import annotations

import functools
from typing import Any

import keras
import torch

from assay.backends.keras.count import multiply_adds
from assay.backends.keras.model import KerasModel, KerasSession, as_array
from assay.backends.torch import setup, trees


def open_session(model: KerasModel) -> KerasTorchSession:
    return KerasTorchSession(model)


class KerasTorchSession(KerasSession):
    def __init__(self, built: KerasModel) -> None:
        super().__init__(built)
        model, train = built.model, built.train
        inputs, targets = keras.tree.map_structure(
            keras.ops.convert_to_tensor, (built.inputs, built.targets)
        )
        self._data = [(inputs, targets) if train else (inputs,)]
        model._symbolic_build(data_batch=(inputs, targets))
        model.train(train)  # fit() and predict() do so too, for layers that check torch's mode
        (model.make_train_function if train else model.make_predict_function)()
        self._function: Any = model.train_function if train else model.predict_function

    def step(self) -> None:
        self._function(self._data)

    def wait(self) -> None:
        # wait for the device, not for outputs: the weights are updated last
        setup.wait()

    def macs(self) -> float:
        return self._look.macs

    def executed_macs(self) -> float:
        return self._look.executed

    def multiply_adds(self) -> float:
        with torch.no_grad():
            return multiply_adds(self._infer)

    def product_dtypes(self) -> str:
        return self._look.product_dtypes

    @functools.cached_property
    def _look(self) -> setup.ForwardFacts:
        with torch.no_grad():
            return setup.inspect_forward(self._infer)

    def sampled_outputs(self) -> tuple[tuple[int, ...], Any]:
        """Before the first update, from the pass in which the work is counted."""
        if not int(self._built.model.optimizer.iterations):
            return self._look.sample
        with torch.no_grad():
            return trees.sample_output(self._infer())

    def read(self) -> object:
        # as the backend torch: through the model, for one item
        inputs = self._data[0][0]
        with torch.no_grad():
            return trees.sample_output(self._built.model(trees.first_item(inputs), training=False))

    def outputs(self) -> Any:
        with torch.no_grad():
            return as_array(self._infer())

    def _infer(self) -> Any:
        return self._built.model(self._data[0][0], training=False)
