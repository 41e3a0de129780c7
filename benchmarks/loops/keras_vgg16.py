"""VGG16 in Keras on JAX or PyTorch: the train function over one batch on the device."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from loops import PLAN


def make(wish: dict[str, Any], batch: int, image: int, **_: int) -> Any:
    keras.config.set_dtype_policy(wish["policy"])
    layers: list[Any] = [keras.Input((image, image, 3))]
    for width in PLAN:
        if width:
            layers.append(keras.layers.Conv2D(width, 3, padding="same", activation="relu"))
        else:
            layers.append(keras.layers.MaxPooling2D(2))
    layers += [keras.layers.Flatten(), keras.layers.Dense(4096, "relu")]
    layers += [keras.layers.Dense(4096, "relu"), keras.layers.Dense(1000)]
    return stepped(keras.Sequential(layers), keras.optimizers.SGD(0.01), batch, image)


def stepped(model: Any, optimizer: Any, batch: int, image: int) -> Any:
    """The train function of any model for images."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    engine = keras.backend.backend()
    model.compile(optimizer, loss, jit_compile=engine == "jax")
    random = np.random.default_rng(0)
    inputs = random.uniform(-1, 1, (batch, image, image, 3)).astype("float32")
    data = (inputs, random.integers(0, 1000, batch).astype("int32"))
    model.train_on_batch(*data)
    return _keras_jax(model, data) if engine == "jax" else _keras_torch(model, data)


def _keras_jax(model: Any, data: Any) -> Any:
    import jax

    batch = jax.device_put(data)
    step_function = jax.jit(model.train_step, donate_argnums=0)
    weights = (model.trainable_variables, model.non_trainable_variables)
    variables = (*weights, model.optimizer.variables, model.metrics_variables)
    state = [tuple([v.value for v in part] for part in variables)]

    def step() -> Any:
        logs, state[0] = step_function(state[0], batch)
        return logs, state[0]

    return step, jax.block_until_ready


def _keras_torch(model: Any, data: Any) -> Any:
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    batch = tuple(torch.as_tensor(part).to(device) for part in data)

    def wait(_: Any) -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    return lambda: model.train_step(batch), wait
