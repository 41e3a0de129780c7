"""Scripts with every import and argument of HPVM's ten run unchanged, by assay and by Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
FOREIGN = ROOT / "foreign" / "hpvm"
SCRIPT = """
import os
import sys
import glob

import numpy as np
import tensorflow as tf
import scipy
import scipy.io
import keras
from keras.models import Model, Sequential
from keras.layers import *
from keras.optimizers import Adam
from keras import regularizers
from keras import backend as K
from keras.utils import to_categorical
from keras.utils.np_utils import to_categorical as old_to_categorical
from keras.preprocessing.image import ImageDataGenerator
from keras.callbacks import LearningRateScheduler

from keras.datasets import mnist
from Benchmark import Benchmark
from Config import MODEL_PARAMS_DIR


class Digits(Benchmark):
    def buildModel(self):
        keras.utils.set_random_seed(0)
        model = Sequential()
        model.add(Conv2D(4, (3, 3), padding='same', activation='tanh',
                         kernel_regularizer=regularizers.l2(1e-4), input_shape=(1, 28, 28)))
        model.add(MaxPooling2D(pool_size=(2, 2)))
        model.add(Dropout(0.2))
        model.add(ZeroPadding2D(padding=((1, 1), (1, 1))))
        model.add(DepthwiseConv2D((3, 3), padding='valid', strides=(2, 2), use_bias=False))
        model.add(BatchNormalization(axis=1))
        model.add(AveragePooling2D(pool_size=2))
        model.add(Flatten())
        model.add(Dense(self.num_classes, activity_regularizer=regularizers.l2(1e-4)))
        model.add(Activation('softmax'))
        return model

    def data_preprocess(self):
        (X_train, y_train), (X_val, y_val) = mnist.load_data()
        X_train = X_train.reshape(X_train.shape[0], 1, 28, 28) / 255.0
        assert y_val.ndim == 1
        folder = MODEL_PARAMS_DIR + '/digits'
        X_test = np.fromfile(folder + '/test_input.bin', dtype=np.float32).reshape((-1, 1, 28, 28))
        y_test = np.fromfile(folder + '/test_labels.bin', dtype=np.uint32)
        return X_train, y_train, X_test, y_test, X_test, y_test

    def trainModel(self, model, X_train, y_train, X_test, y_test):
        y_train = old_to_categorical(y_train, self.num_classes)
        y_test = to_categorical(y_test, self.num_classes)
        datagen = ImageDataGenerator(featurewise_center=False, rotation_range=15,
                                     width_shift_range=0.1, height_shift_range=0.1,
                                     horizontal_flip=False, vertical_flip=False)
        datagen.fit(X_train)
        callbacks = [LearningRateScheduler(lambda epoch: 0.01 * 0.5 ** epoch)]
        model.compile(loss='categorical_crossentropy', metrics=['accuracy'],
                      optimizer=keras.optimizers.SGD(lr=0.05, decay=1e-6, momentum=0.9,
                                                     nesterov=True))
        model.fit_generator(datagen.flow(X_train, y_train, batch_size=16), steps_per_epoch=2,
                            epochs=2, validation_data=(X_test, y_test), callbacks=callbacks)
        model.compile(loss='categorical_crossentropy', optimizer=Adam(lr=0.001, decay=1e-6),
                      metrics=['accuracy'])
        model.fit(X_train, y_train, batch_size=32, shuffle=True, epochs=1)
        return model


if __name__ == '__main__':
    os.environ['CUDA_VISIBLE_DEVICES'] = '0'
    K.set_image_data_format('channels_first')
    Digits = Digits('Digits', MODEL_PARAMS_DIR + '/digits/', 'digits.weights.h5', 'data/digits/',
                    'src/digits_src/', 10, 32)
    Digits.exportToHPVM(sys.argv)
"""
OLD_MODULES = """
# The names of upstream that are beside its scripts: a Keras 2 and a compiler that nobody has.
from keras.utils.np_utils import no_such_name
"""


@pytest.fixture
def hpvm(tmp_path):
    """HPVM's folders: the script, its neighbours, its model_params, and images."""
    folder = tmp_path / "dnn_benchmarks" / "keras"
    folder.mkdir(parents=True)
    (folder / "digits.py").write_text(SCRIPT)
    (folder / "Benchmark.py").write_text(OLD_MODULES)
    (folder / "Config.py").write_text('MODEL_PARAMS_DIR = "/no/such/folder"\n')
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (64, 28, 28)).astype(np.uint8)
    labels = random.integers(0, 10, 64).astype(np.uint8)
    (tmp_path / "images").mkdir()
    arrays = {"x_train": images, "y_train": labels, "x_test": images, "y_test": labels}
    np.savez(tmp_path / "images" / "mnist.npz", **arrays)
    params = folder.parent / "model_params" / "digits"
    params.mkdir(parents=True)
    (images[:, None] / np.float32(255)).astype(np.float32).tofile(params / "test_input.bin")
    labels.astype(np.uint32).tofile(params / "test_labels.bin")
    return folder


def started(words, folder, **variables):
    environment = os.environ | {
        "KERAS_BACKEND": "jax",
        "JAX_PLATFORMS": "cpu",
        "KERAS_HOME": str(folder),
        "ASSAY_DATA": str(folder.parents[1] / "images"),
        **variables,
    }
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def by_assay(folder, *words, **variables):
    return started([sys.executable, "-m", "assay", "hpvm", *words], folder, **variables)


def by_python(folder, tmp_path, *words):
    """As with the wheel of foreign/hpvm installed: its .pth is read at the start."""
    site = tmp_path / "site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(f"import site; site.addsitedir({str(FOREIGN)!r})")
    path = os.pathsep.join([str(site), str(ROOT)])
    return started([sys.executable, *words], folder, PYTHONPATH=path)


@pytest.mark.real("keras", "jax", "tensorflow", "compiler")
def test_a_script_trains_translates_and_compiles_by_assay(hpvm):
    ended = by_assay(hpvm, "digits.py", "train", "frontend", "compile")

    assert ended.returncode == 0, ended.stderr
    assert "Test accuracy2: " in ended.stdout
    assert (hpvm / "src" / "digits_src" / "HPVM_binary").is_file()
    before = float((hpvm / "final_accuracy").read_text())
    binary = started(["src/digits_src/HPVM_binary"], hpvm)
    assert binary.returncode == 0, binary.stderr
    assert float((hpvm / "final_accuracy").read_text()) == pytest.approx(before, abs=1e-3)


@pytest.mark.real("keras", "jax", "tensorflow")
def test_a_script_runs_by_python_with_the_wheel_and_others_stay_as_they_are(hpvm, tmp_path):
    ended = by_python(hpvm, tmp_path, "digits.py", "train", "keras_dump")

    assert ended.returncode == 0, ended.stderr
    assert (hpvm / "digits.weights.h5").is_file()
    (hpvm / "other.py").write_text(
        "import keras, keras.preprocessing.image as image\n"
        "assert not hasattr(image, 'ImageDataGenerator')\n"
        "keras.optimizers.SGD(lr=0.1)\n"
    )
    other = by_python(hpvm, tmp_path, "other.py")
    assert "lr" in other.stderr and "ValueError" in other.stderr


@pytest.mark.real("keras", "jax", "tensorflow")
def test_missing_model_params_are_looked_for_in_every_place(hpvm):
    (hpvm.parent / "model_params").rename(hpvm.parents[1] / "elsewhere")

    ended = by_assay(hpvm, "digits.py", "keras_reload")

    assert ended.returncode == 3
    assert "Traceback" not in ended.stderr
    for place in (hpvm.parent, hpvm, hpvm.parents[1] / "images"):
        assert f"{place}/model_params" in ended.stderr
    (hpvm.parents[1] / "elsewhere").rename(hpvm.parents[1] / "images" / "model_params")
    found = by_assay(hpvm, "digits.py", "keras_reload")
    assert "digits.weights.h5" in found.stderr + found.stdout  # only the weights are missing
    assert found.returncode and "Traceback" not in found.stderr


@pytest.mark.real("keras", "jax", "tensorflow")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("from keras.engine.topology import Layer", "keras.engine"),
        ("from keras.utils import multi_gpu_model", "keras.utils.multi_gpu_model"),
        ("import no_such_package", "no_such_package"),
    ],
)
def test_an_import_that_is_not_provided_is_named_in_one_sentence(hpvm, line, message):
    (hpvm / "script.py").write_text(f"{line}\n{SCRIPT}")

    ended = by_assay(hpvm, "script.py", "train")

    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.startswith(f"error: {message} is imported (line 1 of script.py)")
    assert "Traceback" not in ended.stderr
