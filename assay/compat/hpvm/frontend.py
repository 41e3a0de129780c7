"""The steps after an evaluation: HPVM-C sources, weight files, binaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from assay.core import registry
from assay.core.errors import UsageError
from assay.core.files import user_path, write_user_file
from assay.core.records import Result, Value
from assay.measure.compiler.capture import capture_by_name
from assay.native.hpvm.dataflow import Dataflow
from assay.native.hpvm.frontend import write_sources, write_weights
from assay.native.hpvm.lowering import dataflow, with_softmax
from assay.native.hpvm.program import build_models, compile_program
from assay.weights.bins import file_names
from assay.workloads.accuracy import AccuracyWorkload

BATCH = 500  # images per batch in HPVM's scripts
BATCHES = {
    "vgg16_cifar100": 100,
    "alexnet_imagenet": 50,
    "vgg16_imagenet": 25,
    "resnet50_imagenet": 50,
}
PROGRAMS = {
    "compile": ("approxhpvm_src.cc", "HPVM_binary"),
    "compile_tuner": ("approxhpvm_tuner_src.cc", "HPVM_tuner_binary"),
}


class HpvmPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """Folders of a benchmark's files, and its batch size."""

    data_dir: str
    src_dir: str
    batch_size: int


def places(workload: str, result: Result) -> HpvmPlaces:
    """For HPVM's ten networks, those of the scripts; for a class, its attributes."""
    definition = registry.workload(workload)
    size = int(result.case.params.get("batch_size", BATCH))
    if not isinstance(definition, AccuracyWorkload):
        name = workload.rpartition(":")[2]
        return HpvmPlaces(
            data_dir=str(result.facts.get("data_dir") or f"data/{name}"),
            src_dir=str(result.facts.get("src_dir") or f"src/{name}_src"),
            batch_size=size,
        )
    suffix = "_hpvm" if definition.hpvm == "alexnet_cifar10" else ""  # as in HPVM's script
    return HpvmPlaces(
        data_dir=f"data/{definition.hpvm}{suffix}",
        src_dir=f"src/{definition.hpvm}_src{suffix}",
        batch_size=BATCHES.get(definition.hpvm, BATCH),
    )


def translate(workload: str, params: Mapping[str, Value], result: Result, reload: bool) -> Path:
    """Write HPVM-C and return its folder. With `reload`, data_dir already has the weights."""
    paths = places(workload, result)
    data_dir = Path(str(result.facts["weights_file"])) if reload else user_path(paths.data_dir)
    network = _network(workload, params, None if reload else data_dir)
    if reload:
        _check_reload(data_dir)
    else:
        write_weights(network, data_dir)
    names = file_names(data_dir, network.tensors) if reload else None
    counts = {split: _count(data_dir / f"{split}_labels.bin") for split in ("test", "tune")}
    return write_sources(network, paths.src_dir, data_dir, counts, paths.batch_size, names)


def compile_binaries(src_dir: Path, words: Sequence[str]) -> list[Path]:
    """Compile the binaries for these words; they need only the files beside them and the data."""
    binaries = []
    for word in words:
        source, binary = PROGRAMS[word]
        binaries.append(compile_program(src_dir / source, src_dir / binary))
        if word == "compile":  # HPVM_tuner_binary has the same graph
            build_models(binaries[-1], src_dir)
    write_user_file(Path("working_dir.txt"), str(src_dir).encode())
    return binaries


def dump_weights(
    workload: str, params: Mapping[str, Value], result: Result, target: Path
) -> tuple[Path, ...]:
    """Write weights as a Keras file, and as .bin files in data_dir."""
    data_dir = user_path(places(workload, result).data_dir)
    write_weights(_network(workload, params, save=target), data_dir)
    return target, data_dir


def _network(
    workload: str,
    params: Mapping[str, Value],
    data: Path | None = None,
    save: Path | None = None,
) -> Dataflow:
    graph = capture_by_name(workload, params=params, data=data, save=save).graph
    is_hpvm = isinstance(registry.workload(workload), AccuracyWorkload)
    return dataflow(with_softmax(graph) if is_hpvm else graph)


def _check_reload(folder: Path) -> None:
    for split in ("test", "tune"):
        for part in ("input", "labels"):
            if not (folder / f"{split}_{part}.bin").is_file():
                raise UsageError(
                    f"{folder} has no {split}_{part}.bin, which the program would read.",
                    hint="Use keras_reload, which writes weights and images to data_dir.",
                )


def _count(labels: Path) -> int:
    return labels.stat().st_size // 4
