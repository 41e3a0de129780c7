"""Start a Python process without the current folder in its path: `PYTHON start.py PATH MODULE …`.

`python -m` would put the current folder first, so that a `json.py` or `torch.py` there would run in
every worker. A script has its own folder there instead, which is removed. A user's folders are
added later, explicitly and last.

Foreign interpreters of any version run it too, so it needs the standard library only.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.dirname(HERE)


def command(module: str, python: str = sys.executable, borrowed: str = "") -> list[str]:
    """Command that starts a module of this assay. A foreign interpreter uses its own assay, or that
    in the folder `borrowed`."""
    return [python, os.path.join(HERE, "start.py"), borrowed, module]


def main() -> None:
    borrowed, module = sys.argv[1:3]
    del sys.argv[1:3]
    sys.path[:] = [path for path in sys.path if path not in _paths_to_remove()]
    if borrowed:
        sys.path.append(borrowed)
    else:
        _load_this_assay()
        sys.path.append(os.path.dirname(PACKAGE))  # for processes that a framework starts
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _paths_to_remove() -> set[str]:
    """The script's own folder, and the current one if only an empty part of PYTHONPATH names it, as
    in `:/mine`."""
    named = os.environ.get("PYTHONPATH", "")
    try:
        current = {os.getcwd()} if named and "" in named.split(os.pathsep) else set()
    except OSError:  # it was deleted
        current = set()
    return {"", HERE} | current


def _load_this_assay() -> None:
    """Load assay from its file, without putting the folder above first in the path."""
    file = os.path.join(PACKAGE, "__init__.py")
    spec = importlib.util.spec_from_file_location("assay", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["assay"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    main()
