"""Which models native compiles, and how near it comes: a table of right, or refused by what.

    python benchmarks/native_reach.py                     # all of keras.applications
    python benchmarks/native_reach.py MobileNetV2 a.onnx  # some of them, and ONNX files

Each model is built with seeded weights, for small images, its batch norms with the statistics of
some, and compiled; its program is judged on four items by Keras, or by ONNX Runtime for a file,
with the kernels that are guessed and all of oneDNN's, by the rule of `assay compile`. The number is
the largest difference as a share of the largest output.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.measure.compiler.capture import CapturedModel

SIZE = 75  # pixels: the least that all of them take but those in LARGER
LARGER = {"NASNetLarge": 331, "NASNetMobile": 224}
PICTURES = 8  # that statistics are taken from


def main() -> None:
    asked = sys.argv[1:] or _names()
    # torch need not compile each of them, but Keras has no NASNet for it
    engine = "jax" if any("NASNet" in name for name in asked) else "torch"
    os.environ.setdefault("KERAS_BACKEND", engine)
    print("| model | layers | largest difference | seconds |\n|---|---|---|---|", flush=True)
    for name in asked:
        start = time.perf_counter()
        print(f"| {name} | {_judged(name)} | {time.perf_counter() - start:.0f} |", flush=True)


def _names() -> list[str]:
    import keras

    return [name for name in dir(keras.applications) if name[0].isupper()]


def _judged(name: str) -> str:
    """Layers and difference, or why not."""
    from assay.core.errors import AssayError
    from assay.measure.compiler.capture import capture_model
    from assay.native.agreement import model_agreement
    from assay.native.compile import compile_graph
    from assay.native.toolchain import toolchain

    try:
        found = capture_model(name) if name.endswith(".onnx") else _captured(name)
        made = compile_graph(found.graph, toolchain())
        apart = {
            kind: model_agreement(name, found.graph, each, found.expected)
            for kind, each in made.outputs(found.expected.inputs).items()
        }
    except AssayError as error:
        return f"| refused: {error}"
    return f"{made.layers} | " + ", ".join(f"{kind} {far:.1e}" for kind, far in apart.items())


def _captured(name: str) -> CapturedModel:
    """Judged on images of the kind its statistics are taken from."""
    from assay.measure.compiler.capture import CapturedModel, capture_model
    from assay.native.expected import ReferenceOutputs

    size = LARGER.get(name, SIZE)
    model = _model(name, size)
    _normalized(model, _pictures(PICTURES, size))
    items = _pictures(4, size)
    outputs = model(items, training=False)
    told = ReferenceOutputs(judge="Keras", inputs=(items,), outputs=(_array(outputs),))
    return CapturedModel(capture_model(model).graph, told)


def _model(name: str, size: int) -> Any:
    import keras

    keras.utils.set_random_seed(0)
    model = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3))
    for weight in model.weights:
        if "beta" in weight.path:
            weight.assign(keras.random.normal(weight.shape, 0.0, 0.1, seed=2))
    return model


def _normalized(model: Any, pictures: Any) -> None:
    """Batch norms get the statistics of these, as training leaves them: with others, values grow
    from layer to layer, and what a deep model makes of them is mostly rounding."""
    import keras

    norms = [each for each in model.layers if isinstance(each, keras.layers.BatchNormalization)]
    for layer in norms:
        layer.momentum = 0.0
    model(pictures, training=True)
    for layer in norms:
        layer.momentum = 0.99


def _pictures(count: int, size: int) -> Any:
    import numpy as np

    random = np.random.default_rng(count)
    return random.uniform(0, 255, (count, size, size, 3)).astype(np.float32)


def _array(tensor: Any) -> Any:
    import keras

    return keras.ops.convert_to_numpy(tensor)


if __name__ == "__main__":
    main()
