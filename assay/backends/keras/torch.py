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
        self._batch = inputs
        self._found: Any = None
        self._data = [(inputs, targets) if train else (inputs,)]
        model._symbolic_build(data_batch=(inputs, targets))
        model.train(train)  # fit() and predict() do so too, for layers that check torch's mode
        (model.make_train_function if train else model.make_predict_function)()
        self._function: Any = model.train_function if train else model.predict_function

    def fresh_inputs(self, number: int) -> Any:
        return trees.vary(self._batch, number)

    def set_inputs(self, inputs: Any) -> None:
        self._data = [(inputs, *self._data[0][1:])]

    def step_output(self) -> tuple[tuple[int, ...], Any]:
        return trees.sample_output(self._found)

    def step(self) -> None:
        self._found = self._function(self._data)

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

    def count_again(self) -> tuple[float, str]:
        with torch.no_grad():
            now = setup.inspect_forward(self._infer)
        return now.macs, now.product_dtypes

    def product_dtypes(self) -> str:
        return self._look.product_dtypes

    @functools.cached_property
    def _look(self) -> setup.ForwardFacts:
        with torch.no_grad():
            return setup.inspect_forward(self._infer)

    def sampled_outputs(self) -> tuple[tuple[int, ...], Any]:
        """Before the first update, from the pass in which the work is counted."""
        unchanged = self._data[0][0] is self._batch
        if unchanged and not int(self._built.model.optimizer.iterations):
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
