"""Run `assay` as on another system: `python -m tests.simulated darwin|win32 WORD…`.

`sys.platform` is another, and what Python does not have there is hidden.
"""

from __future__ import annotations

import importlib
import importlib.abc
import os
import sys
import types
from collections.abc import Sequence

HIDDEN = {"darwin": (), "win32": ("fcntl", "resource", "pwd", "grp", "termios")}
LINUX = ("sched_getaffinity", "sched_setaffinity", "pidfd_open")
POSIX = (
    *("wait4", "killpg", "fork", "getuid", "geteuid", "setsid", "getpgid"),
    *("O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_CLOEXEC"),
)
# Modules of the interpreter and of libraries that look at the system when they are imported.
LOADED = (
    *("subprocess", "tempfile", "shutil", "asyncio", "socket", "multiprocessing", "selectors"),
    *("random", "getpass", "pathlib", "tarfile", "zipfile", "ctypes", "platform", "uuid", "click"),
    "click._termui_impl",
)


class Hide(importlib.abc.MetaPathFinder):
    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in self._names:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)


def simulate(system: str) -> None:
    for name in LOADED:
        importlib.import_module(name)
    sys.platform = system
    proxies = types.ModuleType("_scproxy")  # of urllib, on macOS
    vars(proxies).update(_get_proxy_settings=dict, _get_proxies=dict)
    sys.modules["_scproxy"] = proxies
    if system == "win32":
        console = types.ModuleType("msvcrt")
        vars(console).update(locking=lambda *_: None, LK_LOCK=1, LK_NBLCK=2)
        sys.modules["msvcrt"] = console
    for name in HIDDEN[system]:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Hide(HIDDEN[system]))
    for name in (*LINUX, *(POSIX if system == "win32" else ())):
        if hasattr(os, name):
            delattr(os, name)


if __name__ == "__main__":
    simulate(sys.argv.pop(1))
    from assay.cli.main import main

    main()
