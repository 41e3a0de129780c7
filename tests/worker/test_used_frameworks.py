from __future__ import annotations

from types import SimpleNamespace as Module

import pytest

from assay.worker.bench import detect_framework

TENSORFLOW = Module(__version__="2.21.0", __git_version__="b'v2.21.0-rc1'")
TORCH = Module(__version__="2.13.0+cpu", version=Module(git_version="abc"))
JAX = Module(__version__="0.10.2", version=Module())
JAXLIB = Module(__version__="0.10.2")


def keras(name):
    return Module(backend=lambda: name)


@pytest.mark.parametrize(
    ("modules", "name", "build"),
    [
        ({"json": Module()}, "none", ""),
        ({"tensorflow": TENSORFLOW}, "tensorflow", "v2.21.0-rc1"),
        ({"torch": TORCH}, "torch", "abc"),
        ({"jax": JAX, "jaxlib": JAXLIB}, "jax", "jaxlib 0.10.2"),
        ({"tensorflow": TENSORFLOW, "torch": TORCH}, "torch", "abc"),
        (
            {"keras.src.backend.config": keras("jax"), "torch": TORCH, "jax": JAX},
            "jax",
            "",
        ),
        (
            {"keras.src.backend.config": keras("tensorflow"), "tensorflow": TENSORFLOW},
            "tensorflow",
            "v2.21.0-rc1",
        ),
        (  # TensorFlow has loaded Keras by itself
            {"keras.src.backend.config": keras("tensorflow"), "tensorflow": TENSORFLOW}
            | {"torch": TORCH},
            "torch",
            "abc",
        ),
        (  # and JAX too, which then did nothing
            {"tensorflow": TENSORFLOW, "jax": JAX, "jax._src.xla_bridge": Module(_backends={})},
            "tensorflow",
            "v2.21.0-rc1",
        ),
        (
            {"tensorflow": TENSORFLOW, "jax": JAX, "jaxlib": JAXLIB}
            | {"jax._src.xla_bridge": Module(_backends={"cpu": Module()})},
            "jax",
            "jaxlib 0.10.2",
        ),
    ],
)
def test_the_framework_named_is_the_one_that_worked(modules, name, build):
    found = detect_framework(modules)

    assert (found["name"], found["build_version"]) == (name, build)


def test_the_version_is_the_frameworks_own():
    assert detect_framework({"tensorflow": TENSORFLOW})["version"] == "2.21.0"
