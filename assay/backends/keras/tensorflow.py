"""Keras on TensorFlow: the step is the train function over a batch that is on the device."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import keras
import tensorflow as tf

from assay.backends.keras.count import multiply_adds
from assay.backends.keras.model import KerasModel, KerasSession, as_array
from assay.backends.tensorflow import setup
from assay.backends.tensorflow.session import vary
from assay.core import fingerprint


def open_session(model: KerasModel) -> KerasTensorFlowSession:
    return KerasTensorFlowSession(model)


def share_devices(strategy: Any) -> None:
    """Nothing more: Keras finds the strategy in whose scope its model is built."""


class KerasTensorFlowSession(KerasSession):
    def __init__(self, built: KerasModel) -> None:
        super().__init__(built)
        model, train = built.model, built.train
        inputs, targets = keras.tree.map_structure(
            keras.ops.convert_to_tensor, (built.inputs, built.targets)
        )
        # A plain iterator: Keras then calls its function of one batch, without tf.data.
        self._values = self._batch = inputs
        self._found: Any = None
        self._targets = targets
        batch: Any = (inputs, targets)
        if tf.distribute.has_strategy():
            batch = setup.is_shared(tf.distribute.get_strategy(), batch)
        self._data: Any = itertools.repeat(batch) if train else [(inputs,)]
        model._symbolic_build(data_batch=(inputs, targets))
        (model.make_train_function if train else model.make_predict_function)()
        self._function = model.train_function if train else model.predict_function
        self._call = lambda values: model(values, training=False)
        traced = tf.function(self._call, jit_compile=model.jit_compile)
        self._inferred = self._call if model.run_eagerly else traced

    def fresh_inputs(self, number: int) -> Any:
        return vary(self._batch, number)

    def set_inputs(self, inputs: Any) -> None:
        self._values = inputs
        if self._built.train:
            self._data = itertools.repeat((inputs, self._targets))
        else:
            self._data = [(inputs,)]

    def step_output(self) -> tuple[tuple[int, ...], Any]:
        return fingerprint.sample_values(as_array(self._found))

    def step(self) -> None:
        self._found = self._function(self._data)

    def wait(self) -> None:
        # wait for the devices, not for outputs: the weights are updated last
        setup.wait()

    def macs(self) -> float:
        return setup.macs(self._forward_graph)

    def multiply_adds(self) -> float:
        traced = tf.function(self._call)
        return multiply_adds(lambda: traced.get_concrete_function(self._inputs()))

    def product_dtypes(self) -> str:
        return setup.product_dtypes(self._forward_graph)

    @functools.cached_property
    def _forward_graph(self) -> tf.Graph:
        function: Any = tf.function(self._call) if self._built.model.run_eagerly else self._inferred
        return function.get_concrete_function(self._inputs()).graph

    def outputs(self) -> Any:
        return as_array(self._inferred(self._inputs()))

    def _inputs(self) -> Any:
        return self._values
