"""HPVM's base class: a script ends with `exportToHPVM(sys.argv)`, as it did there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from assay.compat.hpvm.frontend import compile_binaries
from assay.compat.hpvm.scripts import COMPILING, read_words, write_accuracy
from assay.compat.hpvm_class import Benchmark as _Benchmark
from assay.core.errors import AssayError
from assay.native.hpvm.frontend import translate_to_approxhpvm


class Benchmark(_Benchmark):
    """Derive from it and add `buildModel`, `data_preprocess` and `trainModel`."""

    buildModel: Callable[[], Any]
    data_preprocess: Callable[[], Any]
    trainModel: Callable[..., Any]

    def exportToHPVM(self, argv: list[str]) -> None:
        """The words of the command line; what fails ends the script with a status."""
        try:
            self._export(argv[1:])
        except AssayError as error:
            print(f"error: {error}", *([f"hint:  {error.hint}"] if error.hint else []), sep="\n")
            sys.exit(error.status)

    def _export(self, words: list[str]) -> None:
        from assay.weights import keras as _keras  # here: the name is there without Keras too

        request = read_words(self.name, words)
        model = self.buildModel()
        x_train, y_train, x_test, y_test, x_tune, y_tune = self.data_preprocess()
        if request.mode == "train":
            model = self.trainModel(model, x_train, y_train, x_test, y_test) or model
        else:
            reload = request.mode == "hpvm_reload"
            _keras.load(model, self.reload_dir if reload else self.keras_model_file)
        accuracy = _accuracy(model, x_test, y_test)
        print("Test accuracy2:", accuracy)
        write_accuracy(100 * accuracy, Path.cwd())
        if request.dump:
            _keras.save(model, self.keras_model_file)
        if request.frontend:
            reload = request.mode == "hpvm_reload"
            folder = translate_to_approxhpvm(
                model,
                self.reload_dir if reload else self.data_dir,
                self.src_dir,
                *(x_test, y_test, x_tune, y_tune),
                batch_size=self.batch_size,
                num_classes=self.num_classes,
                enable_weights_reload=reload,
            )
            if words := [word for word in COMPILING if word in request.compile]:
                print(*compile_binaries(Path(folder), words), sep="\n")


def _accuracy(model: Any, images: Any, labels: Any) -> float:
    """The share of images that are classified correctly."""
    expected = np.asarray(labels)
    one_hot = expected.ndim == 2 and expected.shape[1] > 1
    expected = expected.argmax(1) if one_hot else expected.reshape(-1)
    outputs = np.asarray(model.predict(images, verbose=0)).reshape(len(expected), -1)
    return float((outputs.argmax(1) == expected).mean())
