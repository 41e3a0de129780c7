"""The system's C++ compiler, and oneDNN where it is installed."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from assay.core.errors import AssayError, NotPossibleError

if TYPE_CHECKING:
    from subprocess import CompletedProcess

Kernels = Literal["auto", "portable", "onednn"]

WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wno-psabi")
COMMON = ("-std=c++17", "-fPIC", "-pthread", "-ffp-contract=fast", "-fvisibility=hidden")

# What a portable program holds beside code for any CPU of its kind: it takes the best that it can.
LEVELS = {"x86_64": (("-march=x86-64-v3",), ("-march=x86-64-v4",))}

# Every check, in as little code as there can be: what is undefined ends a program by a signal and
# not with a sentence, and memory is checked by calls. The runtime compiles in half the time.
SANITIZED = (
    "-O0",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-fsanitize-undefined-trap-on-error",
    "--param=asan-instrumentation-with-call-threshold=0",
)


class Toolchain(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides what comes out of the same source."""

    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...] = ((),)  # flags for a CPU; the runtime is compiled for each
    onednn: str = ""  # the folder that holds its include and lib; "": our own kernels only

    def compile(self, source: Path, target: Path, include: Path, *more: str) -> None:
        paths = [f"-I{include}"]
        if self.onednn:
            paths += ["-DASSAY_ONEDNN", "-isystem", f"{self.onednn}/include"]
        self._run([*self.flags, *paths, *more, "-c", str(source), "-o", str(target)])

    def link(self, parts: list[Path], target: Path, shared: bool) -> None:
        """What is linked finds oneDNN beside itself: no folder of this machine is in it."""
        # OpenMP's library by the name oneDNN calls it: -fopenmp may mean another one's.
        library = [
            f"-L{self.onednn}/lib",
            "-l:libdnnl.so.3",
            "-l:libgomp.so.1",
            "-Wl,-rpath,$ORIGIN",
        ]
        words = [*self.flags, *(["-shared"] if shared else []), *map(str, parts)]
        self._run([*words, *(library if self.onednn else []), "-o", str(target)])

    def _run(self, words: list[str]) -> None:
        ended = _called([*self.command, *words])
        if ended.returncode:
            first = next((line for line in ended.stderr.splitlines() if "error" in line), "")
            raise AssayError(
                f"{self.command[0]} could not compile the model ({first or ended.stderr[-200:]}).",
                hint="Another compiler can be named in CXX: g++ and clang++ are tried.",
            )


def toolchain(
    kernels: Kernels = "auto", portable: bool = False, sanitize: bool = False
) -> Toolchain:
    """`portable`: code for any CPU of this kind. `sanitize`: checked as it runs, for tests."""
    command = _compiler()
    speed = ("-O3",) if not sanitize else SANITIZED
    return Toolchain(
        command=command,
        version=_version(command),
        flags=(*COMMON, *WARNINGS, *speed),
        levels=((), *LEVELS.get(platform.machine(), ())) if portable else (("-march=native",),),
        onednn=_onednn(kernels),
    )


def lacking() -> str:
    """Why nothing can be compiled here, with the remedy, or ""."""
    try:
        _compiler()
    except NotPossibleError as error:
        return f"{str(error).removesuffix('.')}: {error.hint}"
    return ""


def onednn_folder() -> str:
    """That of DNNLROOT, else the environment's own, where `assay[native]` puts it."""
    folders = (Path(place) for place in (os.environ.get("DNNLROOT"), sys.prefix) if place)
    return next((str(folder) for folder in folders if _holds_onednn(folder)), "")


def _holds_onednn(folder: Path) -> bool:
    return (folder / "include/dnnl.hpp").is_file() and (folder / "lib/libdnnl.so.3").is_file()


def _compiler() -> tuple[str, ...]:
    named = shlex.split(os.environ.get("CXX", ""))
    if named and shutil.which(named[0]):
        return tuple(named)
    if named:
        raise NotPossibleError(f"CXX names {named[0]}, which is not here.", hint="Unset CXX.")
    for name in ("g++", "clang++", "c++"):
        if shutil.which(name):
            return (name,)
    raise NotPossibleError(
        "No C++ compiler was found here.", hint="apt-get install g++ (or name one in CXX)"
    )


def _version(command: tuple[str, ...]) -> str:
    return _called([*command, "--version"]).stdout.partition("\n")[0]


def _called(words: Sequence[str]) -> CompletedProcess[str]:
    import subprocess  # here: to know whether there is a compiler, none is called

    return subprocess.run(words, capture_output=True, text=True, check=False)


def _onednn(kernels: Kernels) -> str:
    if kernels == "portable":
        return ""
    found = onednn_folder()
    if kernels == "onednn" and not found:
        raise NotPossibleError("oneDNN is not installed here.", hint="pip install 'assay[native]'")
    return found
