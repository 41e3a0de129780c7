"""Keras in the test's own process: other tests load it in processes of their own."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session")
def keras(tmp_path_factory):
    """On the engine that compiles nothing, with settings of its own; nothing of it is left."""
    wanted = {"KERAS_BACKEND": "torch", "CUDA_VISIBLE_DEVICES": ""}
    wanted["KERAS_HOME"] = str(tmp_path_factory.mktemp("keras-home"))
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    import keras

    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value
    return keras
