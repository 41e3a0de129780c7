"""HPVM's Keras benchmark scripts: their positional words as calls of assay, and what they printed.

`python alexnet2.py keras_reload frontend compile` was build, load, evaluate, translate, compile.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from assay import api, evaluating, registry, settings, training
from assay.errors import NotPossibleError, UsageError
from assay.records import Result

# The first word → what the weights of its case are called; none for a training.
MODES = {"hpvm_reload": "reload_dir", "keras_reload": "keras_model_file", "train": ""}
HPVM_ALONE = ("frontend", "compile", "compile_tuner")  # the second, third and fourth word
DUMP = "keras_dump"  # or this as the second
USAGE = "[hpvm_reload|keras_reload|train] [frontend|keras_dump] [compile] [compile_tuner]"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the words meant."""

    workload: str
    mode: str
    dump: bool  # weights go to the Keras file afterwards


def asked(name: str, words: Sequence[str]) -> Asked:
    """Checked in the order they must come in; what only HPVM can do says so."""
    if not words or words[0] not in MODES:
        told = f"'{words[0]}' stands" if words else "Nothing stands"
        raise UsageError(f"{told} where HPVM's scripts take {', '.join(MODES)}.", hint=USAGE)
    for place, word in enumerate(words[1:]):
        if place < len(HPVM_ALONE) and word == HPVM_ALONE[place]:
            raise NotPossibleError(
                f"{word} is HPVM's own compiler, which is not part of assay.",
                hint=f"Try: assay compile {_workload(name)} -o build/",
            )
        if (place, word) != (0, DUMP):
            raise UsageError(f"'{word}' is no word of HPVM's scripts in that place.", hint=USAGE)
    return Asked(workload=_workload(name), mode=words[0], dump=DUMP in words)


def carried_out(
    wish: Asked, engine: str, home: str | None, watch: Callable[..., None] | None
) -> Result:
    """The model trained or loaded, and evaluated on the test pictures; then dumped, if asked."""
    backend = f"keras-{engine}"
    own_file = _own_file(wish.workload, home)
    if wish.mode == "train":
        save = own_file or "keras_model_file"
        return training.train(
            f"{wish.workload}@{backend}", save=save if wish.dump else "", home=home, watch=watch
        )
    params = f"weights={MODES[wish.mode]}{_data(wish.workload, home)}"
    (result,) = evaluating.evaluate(f"{wish.workload}:{params}@{backend}", home=home, watch=watch)
    if wish.dump and result.status == "ok":
        source = str(result.facts["weights_file"])
        training.export_weights(wish.workload, source, own_file)
    return result


def lines(result: Result) -> Iterator[str]:
    """What the scripts printed, and what they did not: that it failed, and why."""
    accuracy = percent(result)
    if accuracy is None:
        yield f"{result.status}: {result.reason}"
    else:
        yield f"Test accuracy2: {accuracy / 100}"


def percent(result: Result) -> float | None:
    found = api.summarize(result).quantities.get("accuracy")
    return found.value if found else None


def write_accuracy(accuracy: float, folder: Path) -> None:
    """`final_accuracy`, in percent, whole or not at all."""
    temporary = folder / f".final_accuracy-{os.getpid()}"
    temporary.write_text(str(accuracy))
    os.replace(temporary, folder / "final_accuracy")


def _workload(name: str) -> str:
    """`vgg16_cifar10.py`, as the script was called, is vgg16-cifar10 here."""
    return name if ".py:" in name else name.removesuffix(".py").replace("_", "-")


def _own_file(workload: str, home: str | None) -> str:
    """Where the Keras weights of one of the ten go; "" for a class, which says so itself."""
    hpvm = getattr(registry.workload(workload), "hpvm", "")
    place = settings.home(home) / "data" / "model_params" / "keras" / f"{hpvm}.h5"
    return str(place) if hpvm else ""


def _data(workload: str, home: str | None) -> str:
    """HPVM's own pictures, where they are here."""
    hpvm = getattr(registry.workload(workload), "hpvm", "")
    here = any(held.name == f"model_params/{hpvm}" and held.place for held in api.known_data(home))
    return ",data=model_params" if hpvm and here else ""
