"""HPVM's Keras benchmark scripts: their positional words as calls of assay, and what they printed.

`python alexnet2.py keras_reload frontend compile` was build, load, evaluate, translate, compile.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from assay.backends.keras.engines import installed_engine
from assay.commands import data, evaluate
from assay.commands.train import api
from assay.compat.hpvm import frontend as hpvm_frontend
from assay.core import registry, settings
from assay.core.errors import NotPossibleError, UsageError, nearest_name, unknown_name_error
from assay.core.files import user_path, write_atomic
from assay.core.progress import ProgressCallback
from assay.core.records import Result
from assay.core.settings import Home
from assay.native.toolchain import missing_compiler
from assay.stats.summary import summarize
from assay.workloads.accuracy import TEN, AccuracyWorkload

# The first word → what the weights of its case are called; none for a training.
MODES = {"hpvm_reload": "reload_dir", "keras_reload": "keras_model_file", "train": ""}
FRONTEND = "frontend"  # the second word
COMPILING = ("compile", "compile_tuner")  # the third and fourth word, after frontend
DUMP = "keras_dump"  # in the place of frontend
USAGE = "[hpvm_reload|keras_reload|train] [frontend|keras_dump] [compile] [compile_tuner]"


class HpvmRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the words meant."""

    workload: str
    mode: str
    dump: bool = False  # weights go to the Keras file afterwards
    frontend: bool = False  # HPVM-C is written
    compile: tuple[str, ...] = ()  # and these of COMPILING


class HpvmOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The evaluation, and what was written after it."""

    result: Result
    written: tuple[Path, ...] = ()


def read_words(name: str, words: Sequence[str]) -> HpvmRequest:
    """Checked in the order they must come in."""
    if not words or words[0] not in MODES:
        answer = f"'{words[0]}' stands" if words else "Nothing stands"
        wanted = f"{answer} where HPVM's scripts take {', '.join(MODES)}."
        raise UsageError(wanted, hint=_suggest(words[0] if words else "", MODES))
    order = (FRONTEND, *COMPILING)
    rest = words[1:]
    for place, word in enumerate(rest):
        fits = place < len(order) and word == order[place]
        if not fits and (place, word) != (0, DUMP):
            raise _out_of_place(word)
    if DUMP in rest and len(rest) > 1:
        raise _out_of_place(rest[1])
    return HpvmRequest(
        workload=_workload(name),
        mode=words[0],
        dump=DUMP in rest,
        frontend=FRONTEND in rest,
        compile=tuple(word for word in rest if word in COMPILING),
    )


def _out_of_place(word: str) -> UsageError:
    return UsageError(
        f"'{word}' is no word of HPVM's scripts in that place.",
        hint=_suggest(word, (FRONTEND, *COMPILING, DUMP)),
    )


def _suggest(word: str, known: Iterable[str]) -> str:
    near = nearest_name(word, known, likeness=0.75)
    return f"Did you mean {near}? {USAGE}" if near not in ("", word) else USAGE


def check_name(name: str, commands: Iterable[str]) -> None:
    """A word that is no network may be one of the command's own, misspelt."""
    workload = _workload(name)
    if ".py:" not in workload and workload not in registry.names("workloads"):
        raise unknown_name_error(
            "network or command", name, [*commands, *(one.name for one in TEN)]
        )


def engine_for(asked: str) -> str:
    """What was asked for, by an option or by KERAS_BACKEND; else TensorFlow, as in HPVM's scripts,
    or what is here instead."""
    if found := asked or os.environ.get("KERAS_BACKEND"):
        return found
    here = importlib.util.find_spec("tensorflow") is not None
    return "tensorflow" if here else installed_engine() or "tensorflow"


def run_request(
    request: HpvmRequest, engine: str, store: Home, progress: ProgressCallback
) -> HpvmOutcome:
    """The model trained or loaded, and evaluated on the test images; then what else was asked."""
    if request.compile and (lack := missing_compiler()):
        raise NotPossibleError(lack.partition(": ")[0] + ".", hint=lack.partition(": ")[2])
    with tempfile.TemporaryDirectory(prefix="assay-hpvm-") as folder:
        training = request.mode == "train" and request.frontend
        trained = f"{folder}/trained.npz" if training else ""
        result = _evaluated(request, engine, store, progress, trained)
        if result.status != "ok":
            return HpvmOutcome(result=result)
        return HpvmOutcome(result=result, written=_written(request, result, store, trained))


def _evaluated(
    request: HpvmRequest,
    engine: str,
    store: Home,
    progress: ProgressCallback,
    trained: str,  # file for the weights of a training that a translation follows
) -> Result:
    backend = f"keras-{engine}"
    if request.mode == "train":
        save = _own_file(request.workload, store) or "keras_model_file" if request.dump else trained
        case = f"{request.workload}@{backend}"
        return api.train(case, save=save, store=store, progress=progress)
    params = ",".join(f"{n}={v}" for n, v in _params(request, store).items())
    (result,) = evaluate.evaluate(
        f"{request.workload}:{params}@{backend}", store=store, progress=progress
    )
    return result


def _written(request: HpvmRequest, result: Result, store: Home, trained: str) -> tuple[Path, ...]:
    """What follows the evaluation, by the very weights that were evaluated."""
    params = _params(request, store)
    params["weights"] = trained or str(result.facts.get("weights_file", ""))
    if request.dump and request.mode != "train":
        return _dumped(request, params, result, store)
    if not request.frontend:
        return ()
    reload = request.mode == "hpvm_reload"
    src_dir = hpvm_frontend.translated(request.workload, params, result, reload)
    binaries = hpvm_frontend.compiled(src_dir, request.compile) if request.compile else ()
    return (src_dir, *binaries)


def _dumped(
    request: HpvmRequest, params: dict[str, str], result: Result, store: Home
) -> tuple[Path, ...]:
    """The Keras file and, for HPVM, .bin files."""
    target = _own_file(request.workload, store) or str(result.facts.get("keras_model_file", ""))
    if not target:
        raise UsageError(
            f"{request.workload} does not say where its Keras weights go.",
            hint="Give the class an attribute keras_model_file.",
        )
    return hpvm_frontend.dumped(request.workload, params, result, user_path(target))


def _params(request: HpvmRequest, store: Home) -> dict[str, str]:
    """HPVM's own images are taken where they are here."""
    weights = {"weights": MODES[request.mode]} if MODES[request.mode] else {}
    hpvm = _name_in_hpvm(request.workload)
    here = any(
        held.name == f"model_params/{hpvm}" and held.place for held in data.list_datasets(store)
    )
    return weights | ({"data": "model_params"} if hpvm and here else {})


def lines(result: Result) -> Iterator[str]:
    """What the scripts printed, and what they did not: that it failed, and why."""
    accuracy = percent(result)
    if accuracy is None:
        yield f"{result.status}: {result.reason}"
    else:
        yield f"Test accuracy2: {accuracy / 100}"


def percent(result: Result) -> float | None:
    found = summarize(result).quantities.get("accuracy")
    return found.value if found else None


def write_accuracy(accuracy: float, folder: Path) -> None:
    """`final_accuracy`, in percent."""
    write_atomic(folder / "final_accuracy", str(accuracy).encode())


def _workload(name: str) -> str:
    """`vgg16_cifar10.py`, as the script was called, is vgg16-cifar10 here."""
    return name if ".py:" in name else name.removesuffix(".py").replace("_", "-")


def _name_in_hpvm(workload: str) -> str:
    """Of one of the ten networks; "" for a class of one's own."""
    found = registry.workload(workload)
    return found.hpvm if isinstance(found, AccuracyWorkload) else ""


def _own_file(workload: str, store: Home) -> str:
    """Where the Keras weights of one of the ten go; "" for a class, which says so itself."""
    hpvm = _name_in_hpvm(workload)
    place = settings.home(store) / "data" / "model_params" / "keras" / f"{hpvm}.h5"
    return str(place) if hpvm else ""
