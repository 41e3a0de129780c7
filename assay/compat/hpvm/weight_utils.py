"""Weights and data in HPVM's form, by HPVM's names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from assay.native.hpvm.frontend import ImageSet, write_images


def reloadHPVMWeights(model: Any, reload_dir: str, output_model: str = "") -> Any:
    """The model with the weights of a folder of .bin files."""
    from assay.weights import keras as _keras  # here: the name is there without Keras too

    _keras.load(model, Path(reload_dir))
    return model


def dumpCalibrationData(
    file_name: str,
    X_test: Any,
    labels_fname: str,
    y_test: Any,
) -> None:
    """Pictures, channels first, and labels as plain numbers."""
    images = ImageSet(labels=np.asarray(y_test).reshape(-1), parts=(np.asarray(X_test),))
    folder = Path(file_name).parent
    write_images(".calibration", images, folder)
    (folder / ".calibration_input.bin").replace(file_name)
    (folder / ".calibration_labels.bin").replace(labels_fname)
