"""ResNet50 of Keras applications, on JAX."""

from __future__ import annotations

from typing import Any

import keras

from loops.keras_vgg16 import stepped


def make(wish: dict[str, Any], batch: int, image: int, **_: int) -> Any:
    keras.config.set_dtype_policy(wish["policy"])
    model = keras.applications.ResNet50(
        weights=None, input_shape=(image, image, 3), classifier_activation=None
    )
    return stepped(model, keras.optimizers.RMSprop(0.001), batch, image)
