"""A learned factor for each channel (Touvron and others, 2021)."""

from __future__ import annotations

from typing import Any

from keras import layers, ops

from assay.workloads._keras_seeded import channel_axis


class LayerScale(layers.Layer):  # type: ignore[misc]
    def build(self, shape: Any) -> None:  # noqa: ANN401
        self.gamma = self.add_weight(shape=(shape[channel_axis()],), name="gamma")

    def call(self, values: Any) -> Any:  # noqa: ANN401
        if channel_axis() == 1:
            return values * ops.reshape(self.gamma, (-1, 1, 1))
        return values * self.gamma
