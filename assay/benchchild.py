"""The process of one benchmark method: it imports the class, makes an object, calls the method.

Started as `PYTHON -m assay.benchchild FOLDER IN OUT`. What it is asked lies in the folder as
`asked.json`; what it tells it writes beside it, so that a crash loses nothing.
"""

from __future__ import annotations

import faulthandler
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import SkipTest

import msgspec

from assay import measure
from assay.benches.asked import ASKED, FOUND, TOLD, Asked, Find, Run, Told
from assay.benches.construct import arguments
from assay.benches.frameworks import used
from assay.benches.names import Method
from assay.benchfind import class_of, find
from assay.benchwindows import Windows
from assay.childside import failure, orders_from, packages, say
from assay.errors import EndingError, unknown
from assay.protocol import VERSION, Close, Done, Open


def main() -> None:
    faulthandler.enable()  # a segmentation fault leaves its Python stack in the log
    folder = Path(sys.argv[1])
    orders, answers = orders_from(int(sys.argv[2])), int(sys.argv[3])
    for order in orders:
        try:
            if isinstance(order, Open):
                _carry_out(order, folder)
        except Exception as error:  # every ending is a result
            traceback.print_exc()
            say(answers, failure(error))
            return
        say(answers, Done())
        if isinstance(order, Close):
            return


def _carry_out(order: Open, folder: Path) -> None:
    if order.version != VERSION:
        raise EndingError("failed", f"the process speaks protocol {VERSION}, not {order.version}")
    asked = msgspec.json.decode((folder / ASKED).read_bytes(), type=Asked)
    if isinstance(asked, Find):
        sys.path.extend(asked.python_path)
        (folder / FOUND).write_bytes(msgspec.json.encode(find(asked)))
    else:
        sys.path.extend(asked.setting.python_path)
        _run(asked, folder)


def _run(asked: Run, folder: Path) -> None:
    start = measure.clock()
    owner = class_of(asked.method)
    method = _method(owner, _construct(owner, asked), asked.method)
    told = Told(initialization=measure.clock() - start, began=time.time())
    _tell(folder, told, owner)
    windows = Windows(
        asked.setting.windows, Path(asked.profile_dir), lambda: _framework(owner)["name"]
    )
    try:
        with windows:
            start = measure.clock()
            try:
                _call(method)
            finally:
                told = msgspec.structs.replace(told, execution=measure.clock() - start)
    finally:
        _tell(folder, msgspec.structs.replace(told, notes=tuple(windows.notes)), owner)


def _call(method: Callable[[], object]) -> None:
    """No name `self` here: TensorFlow takes the outermost one on the stack for the benchmark."""
    try:
        method()
    except SkipTest as error:
        raise EndingError("skipped", str(error) or "the method skipped itself") from error


def _construct(owner: type, asked: Run) -> Any:  # noqa: ANN401 (a user's object)
    setting = asked.setting
    offered = {
        "output_dir": asked.output_dir,
        "root_data_dir": setting.root_data_dir,
        "tpu": setting.tpu,
    }
    given = arguments(owner, {} if setting.plain else offered, setting.constructor_args)
    try:
        return owner(**given)
    except TypeError as error:
        raise EndingError(
            "failed",
            f"the constructor of {asked.method.owner} refused {_listed(given)}: TypeError: {error}",
        ) from error


def _method(owner: type, thing: Any, method: Method) -> Callable[[], object]:  # noqa: ANN401
    found = getattr(thing, method.method, None)
    if not callable(found):
        names = [name for name in dir(owner) if callable(getattr(owner, name, None))]
        raise unknown(
            f"method of {method.module}.{method.owner}",
            method.method,
            [name for name in names if not name.startswith("_")],
        )
    bound: Callable[[], object] = found
    return bound


def _tell(folder: Path, told: Told, owner: type) -> None:
    now = msgspec.structs.replace(
        told,
        framework=_framework(owner),
        packages=packages(),
        python={"version": sys.version.split()[0], "executable": sys.executable},
    )
    (folder / TOLD).write_bytes(msgspec.json.encode(now))


def _framework(owner: type) -> dict[str, str]:
    return used(sys.modules, vars(sys.modules[owner.__module__]))


def _listed(given: dict[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in given.items()) or "no arguments"


if __name__ == "__main__":
    main()
