"""Write a network as HPVM's frontend does: sources in one folder, weights and data in another."""

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
from assay.core.files import user_file, user_path, write_user_file
from assay.native.graph import Array
from assay.native.hpvm.config_sets import baseline
from assay.native.hpvm.configs import ConfigFile, format_configs
from assay.native.hpvm.dataflow import Dataflow
from assay.native.hpvm.knobs import tuner_knobs
from assay.native.hpvm.lowering import dataflow
from assay.native.hpvm.source import SourceSettings, program_source, tuner_source

# Names of operations in HPVM's tuner.
_TUNER = {
    "conv": "convolution",
    "group_conv": "depthwise_convolution",
    "mul": "linear",
    "pool_max": "maxpool",
    "pool_mean": "avgpool",
}


class ImageSet(msgspec.Struct, frozen=True, kw_only=True):
    """Images with channels first, in parts that fit into memory, and their labels."""

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
    """Write the sources and the tuner's files to `src_dir` or, if that exists, `src_dir_1`, ….

    `files` are the names of weights in `data_dir`, if they differ from the tensors'.
    """
    folder = _create_dir(user_path(src_dir))
    settings = SourceSettings(
        data_dir=str(user_path(data_dir).absolute()),
        src_dir=str(folder.absolute()),
        batch_size=batch_size,
        images=images,
        files=files or {},
    )
    text = format_configs(ConfigFile(configurations=(baseline(flow),)))
    contents = {
        "approxhpvm_src.cc": program_source(flow, settings),
        "approxhpvm_tuner_src.cc": tuner_source(flow, settings),
        "tuner_confs.txt": text.removesuffix("\n"),
        "tuner.json": json.dumps(tuner_facts(flow, settings), indent=2) + "\n",
    }
    for name, content in contents.items():
        write_user_file(folder / name, content.encode())
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
    """Write HPVM-C of a Keras model to `src_dir`, its weights and images to `weights_dir`.

    Returns the folder of the sources: `src_dir`, or `src_dir_1`, … if that exists. With
    `enable_weights_reload` nothing is written to `weights_dir`. Images have the model's own order
    of axes. `num_classes` is accepted for compatibility; the model determines it.
    """
    from assay.native.capture import capture

    graph = capture(model)
    flow = dataflow(graph)
    channels_last = graph.inputs[0].layout == "channels_last"
    data_sets = {"test": (test_data, test_labels), "tune": (tuner_data, tuner_labels)}
    sets = {
        name: _check_images(name, np.asarray(data), np.asarray(labels), channels_last, flow)
        for name, (data, labels) in data_sets.items()
    }
    if not enable_weights_reload:
        write_weights(flow, weights_dir)
        for name, images in sets.items():
            write_images(name, images, weights_dir)
    counts = {name: len(images.labels) for name, images in sets.items()}
    return str(write_sources(flow, src_dir, weights_dir, counts, batch_size))


def _check_images(
    name: str, data: Array, labels: Array, channels_last: bool, flow: Dataflow
) -> ImageSet:
    images = np.moveaxis(data, -1, 1) if channels_last and data.ndim == 4 else data
    if images.shape[1:] != flow.shape or not len(images):
        raise UsageError(
            f"The {name} data are of {data.shape}, but the model takes images of {flow.shape} "
            "(channels, height, width).",
            hint="The first axis is that of the images, the others are the model's own.",
        )
    flat = labels.argmax(1) if labels.ndim == 2 and labels.shape[1] > 1 else labels.reshape(-1)
    if len(flat) != len(images):
        raise UsageError(
            f"There are {len(images)} {name} images, but {len(flat)} labels.",
            hint="Give a label for each.",
        )
    return ImageSet(labels=flat, parts=(images,))


def tuner_facts(flow: Dataflow, settings: SourceSettings) -> dict[str, Any]:
    """Content of `tuner.json`: each operation's cost and knobs, files and pipes."""
    knobs = tuner_knobs()
    names = [f"{_TUNER.get(leaf.op, leaf.op)}_{n}" for n, leaf in enumerate(flow.leaves)]
    tunable = [
        leaf.op == "conv" for leaf in flow.leaves
    ]  # not grouped ones, which HPVM does not tune
    plain = [knob for knob in knobs if knob in ("11", "12")]
    return {
        "op_cost": dict(zip(names, flow.costs, strict=True)),
        "knobs": knobs,
        "op_knobs": {
            name: list(knobs) if full else plain for name, full in zip(names, tunable, strict=True)
        },
        "tune_labels_path": f"{settings.data_dir}/tune_labels.bin",
        "conf_path": "tuner_confs.txt",
        "fifo_path_r": "hpvm_fifo_r",
        "fifo_path_w": "hpvm_fifo_w",
    }


def _create_dir(folder: Path) -> Path:
    """Create a new folder; safe against concurrent calls."""
    names = (folder.name if n == 0 else f"{folder.name}_{n}" for n in itertools.count())
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for name in names:
            with suppress(FileExistsError):
                folder.with_name(name).mkdir()
                return folder.with_name(name)
    except OSError as error:
        raise AssayError(
            f"{folder} cannot be created ({error.strerror}).", hint="Give another src_dir."
        ) from None
    raise AssertionError("numbers do not end")
