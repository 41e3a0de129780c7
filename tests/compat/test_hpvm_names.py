"""Scripts that were written for HPVM: their own imports, their own last line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
import keras
import numpy as np
from Benchmark import Benchmark
from keras_frontend.approxhpvm_translator import translate_to_approxhpvm
from keras_frontend.weight_utils import dumpCalibrationData, reloadHPVMWeights

class Small(Benchmark):
    def buildModel(self):
        keras.utils.set_random_seed(0)
        layers = [keras.layers.Conv2D(2, 3, activation="tanh"), keras.layers.Flatten()]
        head = [keras.layers.Dense(3), keras.layers.Activation("softmax")]
        return keras.Sequential([keras.Input((6, 6, 1)), *layers, *head])

    def data_preprocess(self):
        images = np.random.default_rng(0).normal(size=(8, 6, 6, 1)).astype("float32")
        labels = np.arange(8) % 3
        return images, labels, images, labels, images, labels

    def trainModel(self, model, X_train, y_train, X_test, y_test):
        return model

Small("small", "data/small", "small.npz", "data/small", "src/small", 3, 4).exportToHPVM(sys.argv)
"""


def started(folder, *words):
    variables = {"PYTHONPATH": str(ROOT / "foreign" / "hpvm"), "KERAS_BACKEND": "jax"}
    return subprocess.run(
        [sys.executable, "script.py", *words],
        cwd=folder,
        env={**os.environ, **variables, "JAX_PLATFORMS": "cpu", "KERAS_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.real("keras", "jax")
def test_a_script_of_hpvms_runs_as_it_is(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)

    ended = started(tmp_path, "train", "frontend")

    assert ended.returncode == 0, ended.stderr
    accuracy = float((tmp_path / "final_accuracy").read_text())
    assert ended.stdout.splitlines()[-1] == f"Test accuracy2: {accuracy / 100}"
    assert (tmp_path / "src" / "small" / "approxhpvm_src.cc").exists()
    held = np.fromfile(tmp_path / "data" / "small" / "conv2d_1_w.bin", np.float32)
    assert held.shape == (18,)
    assert "stands where HPVM's scripts take" in started(tmp_path, "relaod").stdout
