"""Keras on PyTorch: the step is the train function over a batch that is on the device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import keras
import torch

from assay.backends import _torch_setup
from assay.backends._keras_count import multiply_adds
from assay.backends._keras_model import KerasModel, as_array
from assay.contracts import Report
from assay.protocol import Train
from assay.records import Value


class StepSession:
    def __init__(self, built: KerasModel) -> None:
        self._built, model, train = built, built.model, built.train
        inputs, targets = keras.tree.map_structure(
            keras.ops.convert_to_tensor, (built.inputs, built.targets)
        )
        self.items = built.items
        self._data = [(inputs, targets) if train else (inputs,)]
        model._symbolic_build(data_batch=(inputs, targets))
        model.train(train)  # fit() and predict() do so too, for layers that ask torch
        (model.make_train_function if train else model.make_predict_function)()
        self._function: Any = model.train_function if train else model.predict_function

    def step(self) -> None:
        self._function(self._data)

    def wait(self) -> None:
        # not the outputs but the device is waited for: the update of the weights comes after them
        _torch_setup.wait()

    def facts(self) -> Mapping[str, Value]:
        return self._built.facts()

    def predict(self, inputs: Any) -> Any:  # noqa: ANN401 (numpy arrays)
        return self._built.predict(inputs)

    def train(self, order: Train) -> Iterator[Report]:
        return self._built.teach(order)

    def macs(self) -> float:
        return _torch_setup.macs(self._inferred)

    def multiply_adds(self) -> float:
        with torch.no_grad():
            return multiply_adds(self._inferred)

    def product_dtypes(self) -> str:
        return _torch_setup.product_dtypes(self._inferred)

    def outputs(self) -> Any:  # noqa: ANN401 (a numpy array)
        with torch.no_grad():
            return as_array(self._inferred())

    def weights(self) -> Iterator[Any]:
        return self._built.weights()

    def _inferred(self) -> Any:  # noqa: ANN401
        return self._built.model(self._data[0][0], training=False)
