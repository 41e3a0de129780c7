"""Starts a Python process of ours without the current folder: `PYTHON start.py PLACE MODULE …`.

`python -m` would put the current folder first, so that a `json.py` or `torch.py` lying there would
run inside every worker. A script has its own folder there instead, and that goes at once. What of
a user's own is needed is added later, on purpose and last.

It is run by foreign interpreters too, of any version, and needs the standard library alone.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(HERE)


def command(module: str, python: str = sys.executable, borrowed: str = "") -> list[str]:
    """The words that start a module of assay. It is this very assay, wherever it lies; a foreign
    interpreter takes that of the folder `borrowed`, unless it has one of its own."""
    return [python, os.path.join(HERE, "start.py"), borrowed, module]


def main() -> None:
    borrowed, module = sys.argv[1:3]
    del sys.argv[1:3]
    sys.path[:] = [place for place in sys.path if place not in _unwanted()]
    if borrowed:
        sys.path.append(borrowed)
    else:
        _load_this_assay()
        sys.path.append(os.path.dirname(PACKAGE))  # for processes that a framework starts
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _unwanted() -> set[str]:
    """The script's own folder; and the current one, where nobody named it: an empty part of
    PYTHONPATH, such as `:/mine` has, stands for it."""
    named = os.environ.get("PYTHONPATH", "")
    try:
        current = {os.getcwd()} if named and "" in named.split(os.pathsep) else set()
    except OSError:  # it was deleted
        current = set()
    return {"", HERE} | current


def _load_this_assay() -> None:
    """By its own file: what else lies in the folder above is not found before anything."""
    file = os.path.join(PACKAGE, "__init__.py")
    spec = importlib.util.spec_from_file_location("assay", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["assay"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    main()
