"""The process of one benchmark method: it imports the class, creates an object, calls the method.

Started as `PYTHON -m assay.worker.bench FOLDER IN OUT`. It reads its request from `asked.json` in
the folder and writes its answer to a file there, so that a crash loses nothing.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import SkipTest

import msgspec

from assay.core.clock import clock
from assay.core.errors import EndingError, unknown_name_error
from assay.core.messages import VERSION, Close, Done, Open
from assay.formats.perfzero.construct import arguments
from assay.formats.perfzero.messages import (
    ANSWER,
    FOUND,
    REQUEST,
    BenchAnswer,
    BenchRequest,
    FindMethods,
    RunMethod,
)
from assay.formats.perfzero.names import Method
from assay.worker.bench_find import class_of, find
from assay.worker.bench_profile import Windows
from assay.worker.protocol import failure, packages, read_requests, send


def main() -> None:
    faulthandler.enable()  # a segmentation fault leaves its Python stack in the log
    folder = Path(sys.argv[1])
    orders, answers = read_requests(int(sys.argv[2])), int(sys.argv[3])
    for request in orders:
        try:
            if isinstance(request, Open):
                _answer_request(request, folder)
        except Exception as error:  # every failure is a result
            traceback.print_exc()
            send(answers, failure(error))
            return
        send(answers, Done())
        if isinstance(request, Close):
            return


def _answer_request(message: Open, folder: Path) -> None:
    if message.version != VERSION:
        raise EndingError("failed", f"the process speaks protocol {VERSION}, not {message.version}")
    request = msgspec.convert(json.loads((folder / REQUEST).read_bytes()), BenchRequest)
    if isinstance(request, FindMethods):
        _extend_path(request.python_path)
        (folder / FOUND).write_bytes(msgspec.json.encode(find(request)))
    else:
        _extend_path(request.setting.python_path)
        _run(request, folder)


def _extend_path(python_path: Sequence[str]) -> None:
    """Modules are named, not files: search the current folder too, last."""
    sys.path.extend((*python_path, os.getcwd()))


def _run(request: RunMethod, folder: Path) -> None:
    start = clock()
    owner = class_of(request.method)
    method = _method(owner, _construct(owner, request), request.method)
    answer = BenchAnswer(initialization=clock() - start, began=time.time())
    _write_answer(folder, answer, owner)
    windows = Windows(
        request.setting.windows, Path(request.profile_dir), lambda: _framework(owner)["name"]
    )
    try:
        with windows:
            start = clock()
            try:
                _call(method)
            finally:
                answer = msgspec.structs.replace(answer, execution=clock() - start)
    finally:
        _write_answer(folder, msgspec.structs.replace(answer, notes=tuple(windows.notes)), owner)


def _call(method: Callable[[], object]) -> None:
    """No name `self` here: TensorFlow takes the outermost `self` on the stack for the benchmark."""
    try:
        method()
    except SkipTest as error:
        raise EndingError("skipped", str(error) or "the method skipped itself") from error


def _construct(owner: type, request: RunMethod) -> Any:
    setting = request.setting
    offered = {
        "output_dir": request.output_dir,
        "root_data_dir": setting.root_data_dir,
        "tpu": setting.tpu,
    }
    kwargs = arguments(owner, {} if setting.plain else offered, setting.constructor_args)
    try:
        return owner(**kwargs)
    except TypeError as error:
        raise EndingError(
            "failed",
            f"the constructor of {request.method.owner} refused {_arguments_text(kwargs)}: "
            f"TypeError: {error}",
        ) from error


def _method(owner: type, thing: Any, method: Method) -> Callable[[], object]:
    attribute = getattr(thing, method.method, None)
    if not callable(attribute):
        names = [name for name in dir(owner) if callable(getattr(owner, name, None))]
        raise unknown_name_error(
            f"method of {method.module}.{method.owner}",
            method.method,
            [name for name in names if not name.startswith("_")],
        )
    function: Callable[[], object] = attribute
    return function


def _write_answer(folder: Path, answer: BenchAnswer, owner: type) -> None:
    now = msgspec.structs.replace(
        answer,
        framework=_framework(owner),
        packages=packages(),
        python={"version": sys.version.split()[0], "executable": sys.executable},
    )
    (folder / ANSWER).write_bytes(msgspec.json.encode(now))


def _framework(owner: type) -> dict[str, str]:
    return detect_framework(sys.modules, vars(sys.modules[owner.__module__]))


def _arguments_text(values: dict[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items()) or "no arguments"


# TensorFlow last: a class may use only its Benchmark base class.
_ORDER = ("torch", "jax", "tensorflow")
# TensorFlow imports JAX if it is installed: then JAX counts once it has opened a device.
_BROUGHT_BY = {"jax": "tensorflow"}
_DEVICES = {"jax": ("jax._src.xla_bridge", "_backends")}
_NONE = {"name": "none", "version": "", "build_version": ""}


def detect_framework(
    modules: Mapping[str, Any], own: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """`name`, `version`, `build_version` of the backend of Keras, else of what the class's module
    imports, else of what is loaded."""
    loaded = {name for name in _ORDER if _counts(modules, name)}
    name = _keras_backend(modules) or _first(_imported_packages(own or {})) or _first(loaded)
    if not name or name not in modules:
        return dict(_NONE)
    return {
        "name": name,
        "version": str(getattr(modules[name], "__version__", "")),
        "build_version": _build(modules, name),
    }


def _first(names: Container[str]) -> str:
    return next((name for name in _ORDER if name in names), "")


def _imported_packages(names: Mapping[str, Any]) -> set[str]:
    """Packages of the modules that are bound to names."""
    modules = (value for value in names.values() if isinstance(value, ModuleType))
    return {module.__name__.partition(".")[0] for module in modules}


def _keras_backend(modules: Mapping[str, Any]) -> str:
    """Its default does not count, because TensorFlow imports Keras."""
    ask = getattr(modules.get("keras.src.backend.config"), "backend", None)
    name = ask() if callable(ask) else ""
    return name if name in _ORDER[:-1] else ""


def _counts(modules: Mapping[str, Any], name: str) -> bool:
    if _BROUGHT_BY.get(name) not in modules:
        return name in modules
    module, devices = _DEVICES[name]
    return bool(getattr(modules.get(module), devices, None))


def _build(modules: Mapping[str, Any], name: str) -> str:
    module = modules[name]
    for owner in (module, getattr(module, "version", None)):
        for field in ("__git_version__", "git_version"):
            if value := getattr(owner, field, None):
                return _plain(str(value))
    library = getattr(modules.get(f"{name}lib"), "__version__", "")
    return f"{name}lib {library}" if library else ""


def _plain(text: str) -> str:
    """TensorFlow writes it as b'v2.21.0-…' in some versions."""
    return text[2:-1] if text.startswith("b'") else text


if __name__ == "__main__":
    main()
