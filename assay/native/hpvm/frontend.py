"""A network as HPVM's frontend leaves it: sources in one folder, weights and data in another."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay.core.errors import AssayError, UsageError
from assay.core.files import user_file, user_path, write_whole
from assay.native.graph import Array
from assay.native.hpvm.config_sets import baseline
from assay.native.hpvm.configs import ConfigFile, text_of
from assay.native.hpvm.dataflow import Dataflow
from assay.native.hpvm.knobs import tuner_knobs
from assay.native.hpvm.lowering import dataflow
from assay.native.hpvm.source import SourceSettings, program_source, tuner_source

# What HPVM's tuner calls the operations of a configuration.
_TUNER = {
    "conv": "convolution",
    "group_conv": "depthwise_convolution",
    "mul": "linear",
    "pool_max": "maxpool",
    "pool_mean": "avgpool",
}


class ImageSet(msgspec.Struct, frozen=True, kw_only=True):
    """Pictures with channels first, in as many parts as fit the memory, and their labels."""

    labels: Array
    parts: Iterable[Array]


def write_sources(
    flow: Dataflow,
    src_dir: str | Path,
    data_dir: str | Path,
    images: Mapping[str, int],
    batch_size: int,
    files: Mapping[str, str] | None = None,
) -> Path:
    """The sources and the tuner's files, in `src_dir` or, if that is there, in `src_dir_1`, ….

    `files` are the names of weights in `data_dir`, where they are not the tensors' own.
    """
    folder = _fresh(user_path(src_dir))
    settings = SourceSettings(
        data_dir=str(user_path(data_dir).absolute()),
        src_dir=str(folder.absolute()),
        batch_size=batch_size,
        images=images,
        files=files or {},
    )
    text = text_of(ConfigFile(configurations=(baseline(flow),)))
    made = {
        "approxhpvm_src.cc": program_source(flow, settings),
        "approxhpvm_tuner_src.cc": tuner_source(flow, settings),
        "tuner_confs.txt": text.removesuffix("\n"),
        "tuner.json": json.dumps(tuner_facts(flow, settings), indent=2) + "\n",
    }
    for name, content in made.items():
        write_whole(folder / name, content.encode())
    return folder


def write_weights(flow: Dataflow, data_dir: str | Path) -> None:
    """A file of plain float32 for each tensor."""
    for name, array in flow.tensors.items():
        with user_file(user_path(data_dir) / f"{name}.bin") as temporary:
            np.ascontiguousarray(array, "<f4").tofile(temporary)


def write_images(name: str, images: ImageSet, data_dir: str | Path) -> None:
    """`NAME_input.bin` and `NAME_labels.bin`."""
    folder = user_path(data_dir)
    with user_file(folder / f"{name}_input.bin") as temporary, open(temporary, "wb") as file:
        for part in images.parts:
            file.write(np.ascontiguousarray(part, "<f4").tobytes())
    with user_file(folder / f"{name}_labels.bin") as temporary:
        np.asarray(images.labels, "<u4").tofile(temporary)


def translate_to_approxhpvm(
    model: Any,
    weights_dir: str | Path,
    src_dir: str | Path,
    test_data: Any,
    test_labels: Any,
    tuner_data: Any,
    tuner_labels: Any,
    batch_size: int,
    num_classes: int = 10,
    enable_weights_reload: bool = False,
) -> str:
    """HPVM-C of a Keras model in `src_dir`, its weights and pictures in `weights_dir`.

    The folder of the sources is given back: `src_dir`, or `src_dir_1`, … where that is there
    already. With `enable_weights_reload` nothing is written to `weights_dir`. Pictures are in the
    model's own order of axes. `num_classes` is HPVM's; the model itself says how many it has.
    """
    from assay.native.capture import capture

    graph = capture(model)
    flow = dataflow(graph)
    last = graph.inputs[0].layout == "channels_last"
    given = {"test": (test_data, test_labels), "tune": (tuner_data, tuner_labels)}
    sets = {
        name: _checked(name, np.asarray(data), np.asarray(labels), last, flow)
        for name, (data, labels) in given.items()
    }
    if not enable_weights_reload:
        write_weights(flow, weights_dir)
        for name, images in sets.items():
            write_images(name, images, weights_dir)
    counts = {name: len(images.labels) for name, images in sets.items()}
    return str(write_sources(flow, src_dir, weights_dir, counts, batch_size))


def _checked(name: str, data: Array, labels: Array, last: bool, flow: Dataflow) -> ImageSet:
    laid = np.moveaxis(data, -1, 1) if last and data.ndim == 4 else data
    if laid.shape[1:] != flow.shape or not len(laid):
        raise UsageError(
            f"The {name} data are of {data.shape}, but the model takes pictures of {flow.shape} "
            "(channels, height, width).",
            hint="The first axis is that of the pictures, the others are the model's own.",
        )
    flat = labels.argmax(1) if labels.ndim == 2 and labels.shape[1] > 1 else labels.reshape(-1)
    if len(flat) != len(laid):
        raise UsageError(
            f"There are {len(laid)} {name} pictures, but {len(flat)} labels.",
            hint="Give a label for each.",
        )
    return ImageSet(labels=flat, parts=(laid,))


def tuner_facts(flow: Dataflow, settings: SourceSettings) -> dict[str, Any]:
    """What `tuner.json` tells a tuner: each operation's cost and knobs, files and pipes."""
    knobs = tuner_knobs()
    names = [f"{_TUNER.get(leaf.op, leaf.op)}_{n}" for n, leaf in enumerate(flow.leaves)]
    kinds = [
        leaf.op == "conv" for leaf in flow.leaves
    ]  # not in groups: HPVM tunes nothing of these
    plain = [knob for knob in knobs if knob in ("11", "12")]
    return {
        "op_cost": dict(zip(names, flow.costs, strict=True)),
        "knobs": knobs,
        "op_knobs": {
            name: list(knobs) if many else plain for name, many in zip(names, kinds, strict=True)
        },
        "tune_labels_path": f"{settings.data_dir}/tune_labels.bin",
        "conf_path": "tuner_confs.txt",
        "fifo_path_r": "hpvm_fifo_r",
        "fifo_path_w": "hpvm_fifo_w",
    }


def _fresh(folder: Path) -> Path:
    """A folder that was not there; two who ask at once get two."""
    names = (folder.name if n == 0 else f"{folder.name}_{n}" for n in itertools.count())
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for name in names:
            with suppress(FileExistsError):
                folder.with_name(name).mkdir()
                return folder.with_name(name)
    except OSError as error:
        raise AssayError(
            f"{folder} cannot be made ({error.strerror}).", hint="Give another src_dir."
        ) from None
    raise AssertionError("numbers do not end")
