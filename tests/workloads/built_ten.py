"""The ten networks as Keras and torch build them in one process, as JSON; for tests."""

from __future__ import annotations

import json
import sys

import keras
import numpy as np
import torch

from assay.workloads.accuracy import TEN
from assay.workloads.net import nets


def looked_at(net: nets.Net) -> dict[str, object]:
    """Numbers the models hold, and how far their outputs for the same image lie apart."""
    weights = nets.weights(net, seed=0)
    pictures, _ = nets.batch(net, 1, seed=0)
    first = keras.config.image_data_format() == "channels_first"
    planes = np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))
    ours = nets.model("keras", net, weights)
    held, names = ours.count_params(), [layer.name for layer in ours.layers if layer.weights]
    found = keras.ops.convert_to_numpy(ours(planes if first else pictures, training=False))
    del ours  # the largest has 138 million weights
    model = nets.model("torch", net, weights).eval()
    with torch.inference_mode():
        wanted = model(torch.from_numpy(planes)).numpy()
    return {
        "keras": held,
        "torch": sum(part.numel() for part in model.parameters()),
        "apart": float(np.abs(found - wanted).max() / np.abs(wanted).max()),
        "names": names,
    }


def main(data_format: str, *chosen: str) -> None:
    keras.config.set_image_data_format(data_format)
    found = {one.name: looked_at(one.net()) for one in TEN if not chosen or one.name in chosen}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
