"""Keras on JAX: the step is the compiled train function over a batch that is on the device."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras

from assay.backends import data_parallel
from assay.backends.jax import setup, trees
from assay.backends.jax.forward import TracedForward
from assay.backends.keras.count import multiply_adds
from assay.backends.keras.model import KerasModel, KerasSession, as_array


def open_session(model: KerasModel) -> KerasJaxSession:
    return KerasJaxSession(model)


def share_devices(mesh: Any) -> None:
    """By Keras' own distribution, before the model is built."""
    devices = [f"{device.platform}:{device.id}" for device in mesh.devices]
    distribution = keras.distribution.DataParallel(devices=devices, auto_shard_dataset=False)
    keras.distribution.set_distribution(distribution)


def _place(arrays: Any) -> Any:
    """Put arrays on the device, or their shards on several devices."""
    shared = keras.distribution.distribution()
    if shared is None:
        return jax.device_put(arrays)

    def put(array: Any) -> Any:
        return jax.device_put(array, shared.get_data_layout(array.shape).backend_layout)

    return jax.tree.map(put, arrays)


class KerasJaxSession(KerasSession):
    """Each step takes the state and returns the next one, as in Keras' fit()."""

    def __init__(self, built: KerasModel) -> None:
        super().__init__(built)
        model, train = built.model, built.train
        inputs, targets = _place((built.inputs, built.targets))
        self._batch, self._targets = inputs, (targets,) if train else ()
        self._batches = itertools.repeat((inputs, *self._targets))
        model._symbolic_build(data_batch=(inputs, targets))
        self._state: Any = model._get_jax_state(
            trainable_variables=True,
            non_trainable_variables=True,
            optimizer_variables=train,
            metrics_variables=train,
        )
        (model.make_train_function if train else model.make_predict_function)()
        self._function = model.train_function if train else model.predict_function
        self._one_at_a_time = data_parallel.is_serialized(built.case)
        self._outputs: Any = None
        # Keras passes this on to the model's call, which may not accept it
        options = {"training": False} if model._call_has_training_arg else {}
        self._call = functools.partial(model.stateless_call, **options)
        self._shown: Callable[[], Any] = (
            (lambda: self._call(*self._arguments()))
            if model.run_eagerly
            else TracedForward(self._call, self._arguments)
        )

    def generates(self, first: KerasJaxSession) -> None:
        """A step donates the memory of its state, so `first` gets a copy of the weights."""
        first._state = jax.tree.map(jnp.copy, first._state)
        super().generates(first)

    def fresh_inputs(self, number: int) -> Any:
        return trees.vary(self._batch, number)

    def set_inputs(self, inputs: Any) -> None:
        self._batches = itertools.repeat((inputs, *self._targets))

    def step_output(self) -> tuple[tuple[int, ...], Any]:
        return trees.sample_output(self._outputs)

    def step(self) -> None:
        self._outputs, self._state = self._function(self._state, self._batches)
        if self._one_at_a_time:
            self.wait()

    def wait(self) -> None:
        # JAX returns before the device has finished; the outputs and the new state come last
        jax.block_until_ready((self._outputs, self._state))

    def outputs(self) -> Any:
        return as_array(self._shown()[0])

    def sampled_outputs(self) -> tuple[tuple[int, ...], Any]:
        return trees.sample_output(self._shown()[0])

    def read(self) -> object:
        return trees.read(self._outputs)

    def macs(self) -> float:
        return setup.macs(self._forward_jaxpr)

    def executed_macs(self) -> float:
        return setup.executed_macs(self._forward_jaxpr)

    def multiply_adds(self) -> float:
        def call(*arguments: Any) -> Any:
            return self._call(*arguments)

        return multiply_adds(lambda: jax.eval_shape(call, *self._arguments()))

    def product_dtypes(self) -> str:
        return setup.product_dtypes(self._forward_jaxpr)

    @functools.cached_property
    def _forward_jaxpr(self) -> Any:
        if isinstance(self._shown, TracedForward):
            return self._shown.jaxpr
        return jax.make_jaxpr(self._call)(*self._arguments())

    def _arguments(self) -> tuple[Any, ...]:
        """For inference, from the state: a step has donated the memory of the model's variables."""
        return (*self._state[:2], next(self._batches)[0])
