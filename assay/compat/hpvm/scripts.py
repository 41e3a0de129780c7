"""HPVM's Keras benchmark scripts: their positional words and their output.

`python alexnet2.py keras_reload frontend compile` loads, evaluates, translates and compiles.
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
from assay.core.files import user_path, write_user_file
from assay.core.progress import ProgressCallback
from assay.core.records import Result
from assay.core.settings import Home
from assay.native.toolchain import missing_compiler
from assay.stats.summary import summarize
from assay.workloads.accuracy import TEN, AccuracyWorkload

# The first word → attribute of the weights; none for a training.
MODES = {"hpvm_reload": "reload_dir", "keras_reload": "keras_model_file", "train": ""}
FRONTEND = "frontend"  # the second word
COMPILING = ("compile", "compile_tuner")  # the third and fourth word, after frontend
DUMP = "keras_dump"  # in the place of frontend
USAGE = "[hpvm_reload|keras_reload|train] [frontend|keras_dump] [compile] [compile_tuner]"


class HpvmRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed command line of a script."""

    workload: str
    mode: str
    dump: bool = False  # write the weights to a Keras file
    frontend: bool = False  # write HPVM-C
    compile: tuple[str, ...] = ()  # words of COMPILING


class HpvmOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The evaluation, and the files written after it."""

    result: Result
    written: tuple[Path, ...] = ()


def read_words(name: str, words: Sequence[str]) -> HpvmRequest:
    """Parse the words of a script; they have a fixed order."""
    if not words or words[0] not in MODES:
        answer = f"'{words[0]}' stands" if words else "Nothing stands"
        text = f"{answer} where HPVM's scripts take {', '.join(MODES)}."
        raise UsageError(text, hint=_suggest(words[0] if words else "", MODES))
    order = (FRONTEND, *COMPILING)
    rest = words[1:]
    for position, word in enumerate(rest):
        fits = position < len(order) and word == order[position]
        if not fits and (position, word) != (0, DUMP):
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
    """Raise for an unknown network; suggestions include the subcommands."""
    workload = _workload(name)
    if ".py:" not in workload and workload not in registry.names("workloads"):
        raise unknown_name_error(
            "network or command", name, [*commands, *(network.name for network in TEN)]
        )


def engine_for(asked: str) -> str:
    """The engine of the option or of KERAS_BACKEND; else TensorFlow, as in HPVM's scripts, or
    another installed one."""
    if engine := asked or os.environ.get("KERAS_BACKEND"):
        return engine
    has_tensorflow = importlib.util.find_spec("tensorflow") is not None
    return "tensorflow" if has_tensorflow else installed_engine() or "tensorflow"


def run_request(
    request: HpvmRequest, engine: str, store: Home, progress: ProgressCallback
) -> HpvmOutcome:
    """Train or load the model, evaluate it on the test images, then write what was requested."""
    if request.compile and (problem := missing_compiler()):
        raise NotPossibleError(problem.partition(": ")[0] + ".", hint=problem.partition(": ")[2])
    with tempfile.TemporaryDirectory(prefix="assay-hpvm-") as folder:
        training = request.mode == "train" and request.frontend
        weights_file = f"{folder}/trained.npz" if training else ""
        result = _train_or_evaluate(request, engine, store, progress, weights_file)
        if result.status != "ok":
            return HpvmOutcome(result=result)
        return HpvmOutcome(
            result=result, written=_write_outputs(request, result, store, weights_file)
        )


def _train_or_evaluate(
    request: HpvmRequest,
    engine: str,
    store: Home,
    progress: ProgressCallback,
    weights_file: str,  # file for the weights, if a translation follows the training
) -> Result:
    backend = f"keras-{engine}"
    if request.mode == "train":
        save = (
            _keras_file(request.workload, store) or "keras_model_file"
            if request.dump
            else weights_file
        )
        case = f"{request.workload}@{backend}"
        return api.train(case, save=save, store=store, progress=progress)
    params = ",".join(f"{n}={v}" for n, v in _params(request, store).items())
    (result,) = evaluate.evaluate(
        f"{request.workload}:{params}@{backend}", store=store, progress=progress
    )
    return result


def _write_outputs(
    request: HpvmRequest, result: Result, store: Home, weights_file: str
) -> tuple[Path, ...]:
    """Write the Keras file or HPVM-C, with the weights that were evaluated."""
    params = _params(request, store)
    params["weights"] = weights_file or str(result.facts.get("weights_file", ""))
    if request.dump and request.mode != "train":
        return _dump_weights(request, params, result, store)
    if not request.frontend:
        return ()
    reload = request.mode == "hpvm_reload"
    src_dir = hpvm_frontend.translate(request.workload, params, result, reload)
    binaries = hpvm_frontend.compile_binaries(src_dir, request.compile) if request.compile else ()
    return (src_dir, *binaries)


def _dump_weights(
    request: HpvmRequest, params: dict[str, str], result: Result, store: Home
) -> tuple[Path, ...]:
    """Write the Keras file and HPVM's .bin files."""
    target = _keras_file(request.workload, store) or str(result.facts.get("keras_model_file", ""))
    if not target:
        raise UsageError(
            f"{request.workload} does not say where its Keras weights go.",
            hint="Give the class an attribute keras_model_file.",
        )
    return hpvm_frontend.dump_weights(request.workload, params, result, user_path(target))


def _params(request: HpvmRequest, store: Home) -> dict[str, str]:
    """Parameters of the workload; HPVM's own images, if they are in the store."""
    weights = {"weights": MODES[request.mode]} if MODES[request.mode] else {}
    hpvm = _name_in_hpvm(request.workload)
    has_data = any(
        dataset.name == f"model_params/{hpvm}" and dataset.place
        for dataset in data.list_datasets(store)
    )
    return weights | ({"data": "model_params"} if hpvm and has_data else {})


def lines(result: Result) -> Iterator[str]:
    """The output of the scripts; for a failed evaluation, its status and reason."""
    accuracy = percent(result)
    if accuracy is None:
        yield f"{result.status}: {result.reason}"
    else:
        yield f"Test accuracy2: {accuracy / 100}"


def percent(result: Result) -> float | None:
    accuracy = summarize(result).quantities.get("accuracy")
    return accuracy.value if accuracy else None


def write_accuracy(accuracy: float, folder: Path) -> None:
    """Write `final_accuracy`, in percent."""
    write_user_file(folder / "final_accuracy", str(accuracy).encode())


def _workload(name: str) -> str:
    """The workload of a script: `vgg16_cifar10.py` is vgg16-cifar10."""
    return name if ".py:" in name else name.removesuffix(".py").replace("_", "-")


def _name_in_hpvm(workload: str) -> str:
    """The name of one of HPVM's ten networks; "" for a user's class."""
    definition = registry.workload(workload)
    return definition.hpvm if isinstance(definition, AccuracyWorkload) else ""


def _keras_file(workload: str, store: Home) -> str:
    """Path for the Keras weights of one of HPVM's ten networks; "" for a user's class."""
    hpvm = _name_in_hpvm(workload)
    path = settings.home(store) / "data" / "model_params" / "keras" / f"{hpvm}.h5"
    return str(path) if hpvm else ""
