"""HPVM's Keras benchmark scripts: their positional words as calls of assay, and what they printed.

`python alexnet2.py keras_reload frontend compile` was build, load, evaluate, translate, compile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from assay import registry
from assay.core import settings
from assay.core.errors import NotPossibleError, UsageError
from assay.core.files import write_whole
from assay.core.progress import ProgressCallback
from assay.core.records import Result
from assay.verbs import data, evaluate, show, train
from assay.workloads.accuracy import AccuracyWorkload

# The first word → what the weights of its case are called; none for a training.
MODES = {"hpvm_reload": "reload_dir", "keras_reload": "keras_model_file", "train": ""}
HPVM_ALONE = ("frontend", "compile", "compile_tuner")  # the second, third and fourth word
DUMP = "keras_dump"  # or this as the second
USAGE = "[hpvm_reload|keras_reload|train] [frontend|keras_dump] [compile] [compile_tuner]"


class HpvmRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the words meant."""

    workload: str
    mode: str
    dump: bool  # weights go to the Keras file afterwards


def read_words(name: str, words: Sequence[str]) -> HpvmRequest:
    """Checked in the order they must come in; what only HPVM can do says so."""
    if not words or words[0] not in MODES:
        answer = f"'{words[0]}' stands" if words else "Nothing stands"
        raise UsageError(f"{answer} where HPVM's scripts take {', '.join(MODES)}.", hint=USAGE)
    for place, word in enumerate(words[1:]):
        if place < len(HPVM_ALONE) and word == HPVM_ALONE[place]:
            raise NotPossibleError(
                f"{word} is HPVM's own compiler, which is not part of assay.",
                hint=f"Try: assay compile {_workload(name)} -o build/",
            )
        if (place, word) != (0, DUMP):
            raise UsageError(f"'{word}' is no word of HPVM's scripts in that place.", hint=USAGE)
    return HpvmRequest(workload=_workload(name), mode=words[0], dump=DUMP in words)


def carried_out(
    request: HpvmRequest, engine: str, home: str | None, progress: ProgressCallback
) -> Result:
    """The model trained or loaded, and evaluated on the test pictures; then dumped, if asked."""
    backend = f"keras-{engine}"
    own_file = _own_file(request.workload, home)
    if request.mode == "train":
        save = own_file or "keras_model_file"
        return train.train(
            f"{request.workload}@{backend}",
            save=save if request.dump else "",
            home=home,
            progress=progress,
        )
    params = f"weights={MODES[request.mode]}{_data(request.workload, home)}"
    (result,) = evaluate.evaluate(
        f"{request.workload}:{params}@{backend}", home=home, progress=progress
    )
    if request.dump and result.status == "ok":
        source = str(result.facts["weights_file"])
        train.export_weights(request.workload, source, own_file)
    return result


def lines(result: Result) -> Iterator[str]:
    """What the scripts printed, and what they did not: that it failed, and why."""
    accuracy = percent(result)
    if accuracy is None:
        yield f"{result.status}: {result.reason}"
    else:
        yield f"Test accuracy2: {accuracy / 100}"


def percent(result: Result) -> float | None:
    found = show.summarize(result).quantities.get("accuracy")
    return found.value if found else None


def write_accuracy(accuracy: float, folder: Path) -> None:
    """`final_accuracy`, in percent."""
    write_whole(folder / "final_accuracy", str(accuracy).encode())


def _workload(name: str) -> str:
    """`vgg16_cifar10.py`, as the script was called, is vgg16-cifar10 here."""
    return name if ".py:" in name else name.removesuffix(".py").replace("_", "-")


def _name_in_hpvm(workload: str) -> str:
    """Of one of the ten networks; "" for a class of one's own."""
    found = registry.workload(workload)
    return found.hpvm if isinstance(found, AccuracyWorkload) else ""


def _own_file(workload: str, home: str | None) -> str:
    """Where the Keras weights of one of the ten go; "" for a class, which says so itself."""
    hpvm = _name_in_hpvm(workload)
    place = settings.home(home) / "data" / "model_params" / "keras" / f"{hpvm}.h5"
    return str(place) if hpvm else ""


def _data(workload: str, home: str | None) -> str:
    """HPVM's own pictures, where they are here."""
    hpvm = _name_in_hpvm(workload)
    here = any(held.name == f"model_params/{hpvm}" and held.place for held in data.known_data(home))
    return ",data=model_params" if hpvm and here else ""
