"""Which models native compiles, and how near it comes: a table of right, or refused by what.

    python benchmarks/native_reach.py                     # all of keras.applications
    python benchmarks/native_reach.py MobileNetV2 a.onnx  # some of them, and ONNX files

Each model is built with seeded weights, for small pictures, and compiled; its program is judged on
four items by Keras, or by ONNX Runtime for a file, with the kernels that are guessed and all of
oneDNN's. The number is the largest difference as a share of the largest output; where that is above
1e-4, also what rounding explains (`assay compile` allows as much).
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

SIZE = 75  # pixels: the least that all of them take but those in LARGER
LARGER = {"NASNetLarge": 331, "NASNetMobile": 224}


def main() -> None:
    os.environ.setdefault("KERAS_BACKEND", "torch")  # it need not compile each of them
    asked = sys.argv[1:] or _names()
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
    from assay.engine.agreement import ALLOWED, UNLUCKY, distance
    from assay.engine.capture import captured
    from assay.native.compile import built_model
    from assay.native.toolchain import toolchain

    try:
        found = captured(name if name.endswith(".onnx") else _model(name))
        made = built_model(found.graph, toolchain())
        outputs = made.outputs(found.answers.inputs)
    except AssayError as error:
        return f"| refused: {error}"
    told = found.answers.outputs
    far = {
        kind: max(distance(here, there) for here, there in zip(each, told, strict=True))
        for kind, each in outputs.items()
    }
    text = f"{made.layers} | " + ", ".join(f"{kind} {apart:.1e}" for kind, apart in far.items())
    if max(far.values()) <= ALLOWED:
        return text
    allowed = UNLUCKY * found.rounding()
    return f"{text}, {'WRONG' if max(far.values()) > allowed else 'right'}: {allowed:.1e} allowed"


def _model(name: str) -> Any:
    import keras

    keras.utils.set_random_seed(0)
    size = LARGER.get(name, SIZE)
    model = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3))
    for weight in model.weights:  # statistics as training leaves them, not 0 and 1
        if "moving_variance" in weight.path:
            weight.assign(keras.random.uniform(weight.shape, 0.5, 1.5, seed=1))
        elif "moving_mean" in weight.path or "beta" in weight.path:
            weight.assign(keras.random.normal(weight.shape, 0.0, 0.1, seed=2))
    return model


if __name__ == "__main__":
    main()
