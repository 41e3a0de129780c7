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

# A portable program has code for any CPU of its kind and for these; it selects the best at start.
LEVELS = {"x86_64": (("-march=x86-64-v3",), ("-march=x86-64-v4",))}

# Every check in little code: undefined behaviour ends a program by a signal, not with a message,
# and memory is checked by calls. The runtime compiles in half the time.
SANITIZE_FLAGS = (
    "-O0",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-fsanitize-undefined-trap-on-error",
    "--param=asan-instrumentation-with-call-threshold=0",
)


class Toolchain(msgspec.Struct, frozen=True, kw_only=True):
    """Compiler, flags and libraries."""

    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...] = (
        (),
    )  # flags for each CPU level; the runtime is compiled for each
    onednn: str = ""  # the folder with its include and lib; "": own kernels only

    def compile(self, source: Path, target: Path, include: Path, *more: str) -> None:
        paths = [f"-I{include}"]
        if self.onednn:
            paths += ["-DASSAY_ONEDNN", "-isystem", f"{self.onednn}/include"]
        self._run([*self.flags, *paths, *more, "-c", str(source), "-o", str(target)])

    def link(self, parts: list[Path], target: Path, shared: bool) -> None:
        """Link so that oneDNN is found next to the program, without paths of this machine."""
        # The OpenMP library that oneDNN uses: -fopenmp may mean another.
        library = [
            f"-L{self.onednn}/lib",
            "-l:libdnnl.so.3",
            "-l:libgomp.so.1",
            "-Wl,-rpath,$ORIGIN",
        ]
        words = [*self.flags, *(["-shared"] if shared else []), *map(str, parts)]
        self._run([*words, *(library if self.onednn else []), "-o", str(target)])

    def _run(self, words: list[str]) -> None:
        process = _call([*self.command, *words])
        if process.returncode:
            text = process.stderr
            message = next((line for line in text.splitlines() if "error" in line), text[-200:])
            raise AssayError(
                f"{self.command[0]} could not compile the model ({message}).",
                hint="Set CXX to another compiler; g++ and clang++ are supported.",
            )


def toolchain(
    kernels: Kernels = "auto", portable: bool = False, sanitize: bool = False
) -> Toolchain:
    """`portable`: code for any CPU of this kind. `sanitize`: sanitizers, for tests."""
    command = _compiler()
    speed = ("-O3",) if not sanitize else SANITIZE_FLAGS
    return Toolchain(
        command=command,
        version=_version(command),
        flags=(*COMMON, *WARNINGS, *speed),
        levels=((), *LEVELS.get(platform.machine(), ())) if portable else (("-march=native",),),
        onednn=_onednn(kernels),
    )


def missing_compiler() -> str:
    """Why nothing can be compiled here, and what to do; "" if it can."""
    try:
        _compiler()
    except NotPossibleError as error:
        return f"{str(error).removesuffix('.')}: {error.hint}"
    return ""


def onednn_folder() -> str:
    """DNNLROOT, else the Python environment, where `assay-lab[native]` installs it."""
    folders = (Path(path) for path in (os.environ.get("DNNLROOT"), sys.prefix) if path)
    return next((str(folder) for folder in folders if _has_onednn(folder)), "")


def _has_onednn(folder: Path) -> bool:
    return (folder / "include/dnnl.hpp").is_file() and (folder / "lib/libdnnl.so.3").is_file()


def _compiler() -> tuple[str, ...]:
    command = shlex.split(os.environ.get("CXX", ""))
    if command and shutil.which(command[0]):
        return tuple(command)
    if command:
        raise NotPossibleError(f"CXX is {command[0]}, which is not installed.", hint="Unset CXX.")
    for name in ("g++", "clang++", "c++"):
        if shutil.which(name):
            return (name,)
    raise NotPossibleError("No C++ compiler found.", hint="apt-get install g++ (or set CXX)")


def _version(command: tuple[str, ...]) -> str:
    return _call([*command, "--version"]).stdout.partition("\n")[0]


def _call(words: Sequence[str]) -> CompletedProcess[str]:
    import subprocess  # lazy: a check for a compiler runs none

    return subprocess.run(words, capture_output=True, text=True, check=False)


def _onednn(kernels: Kernels) -> str:
    if kernels == "portable":
        return ""
    folder = onednn_folder()
    if kernels == "onednn" and not folder:
        raise NotPossibleError(
            "oneDNN is not installed here.", hint="pip install 'assay-lab[native]'"
        )
    return folder
