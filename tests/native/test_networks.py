"""Real networks, compiled: the same outputs and the same answers as Keras gives."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core import registry
from assay.native.capture import capture
from tests.datasets.making import WHOLE
from tests.native.built import compiled, loaded_outputs

pytestmark = pytest.mark.real("compiler", "keras", "torch")

PICTURES = 64
FILES = {
    "lenet": "lenet",
    "alexnet2": "alexnet2",
    "resnet18-cifar10": "resnet18",
    "mobilenet-cifar10": "mobilenet",
}


def job(name):
    """With trained weights and real images where the whole data is here, else by seed."""
    workload = registry.workload(name)
    weights = str(WHOLE / "weights" / f"{FILES[name]}.npz") if WHOLE.is_dir() else ""
    made = workload.kinds["keras"](batch_size=PICTURES, seed=0, weights=weights, data="own")
    if not weights:
        return made.model, made.train_batch[0]
    examples = made.eval_data("test", PICTURES)
    return made.model, examples.ready(examples.inputs[:PICTURES])


@pytest.mark.parametrize("name", FILES)
def test_a_network_answers_as_keras_does(name, keras, monkeypatch, plain_tools, native_cache):
    monkeypatch.setenv("ASSAY_DATA", str(WHOLE))
    model, pictures = job(name)
    emitted, built = compiled(capture(model, name), plain_tools, native_cache)

    wanted = keras.ops.convert_to_numpy(model(pictures, training=False))
    found = loaded_outputs(emitted, built, np.asarray(pictures, np.float32), 24, threads=2)

    assert np.abs(found - wanted).max() <= 1e-4 * max(1, np.abs(wanted).max())
    assert (found.argmax(1) == wanted.argmax(1)).all()
