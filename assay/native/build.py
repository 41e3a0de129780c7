"""Build a program and a library from source and weights, in a cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np

from assay.core.errors import AssayError
from assay.core.files import user_path
from assay.core.systems import lock_file
from assay.native.emit import ModelSource
from assay.native.graph import Array
from assay.native.toolchain import Toolchain

RUNTIME = Path(__file__).parent / "runtime"
BUILD_PREFIX, DAY = ".building-", 24 * 3600  # prefix of folders of unfinished builds; seconds


class ModelFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Files of one model, all in one folder of the cache."""

    folder: Path
    name: str
    cached: bool  # built before

    @property
    def program(self) -> Path:
        return self.folder / self.name

    @property
    def library(self) -> Path:
        return self.folder / f"{self.name}.so"

    @property
    def weights(self) -> Path:
        return self.folder / f"{self.name}.weights"

    @property
    def files(self) -> tuple[Path, ...]:
        """The program, the files it needs next to it, and its source."""
        files = (self.program, self.weights, self.folder / f"{self.name}.cpp")
        return files + tuple(self.folder.glob("libdnnl.so*"))


def build(
    emitted: ModelSource, tools: Toolchain, cache: Path | None = None, folder: Path | None = None
) -> ModelFiles:
    """Build atomically: the folder gets its name when it is complete.

    With `folder`, only the runtime is cached.
    """
    cache = cache or default_cache()
    folder = folder or cache / digest(emitted, tools)
    built = ModelFiles(folder=folder, name=emitted.name, cached=folder.is_dir())
    if not built.cached:
        parts = runtime_parts(tools, cache)
        with atomic_dir(folder) as fresh:
            _make(msgspec.structs.replace(built, folder=fresh), emitted, tools, parts)
    return built


def build_program(folder: Path, emitted: ModelSource, tools: Toolchain) -> ModelFiles:
    """Build the program alone, in a folder of the caller, without the cache."""
    built = ModelFiles(folder=folder, name=emitted.name, cached=False)
    _make(built, emitted, tools, runtime_parts(tools, default_cache()), library=False)
    return built


def default_cache() -> Path:
    """$XDG_CACHE_HOME/assay/native, else ~/.cache/assay/native."""
    return user_path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "assay" / "native"


def digest(emitted: ModelSource, tools: Toolchain) -> str:
    """Hash of source, weights, runtime, compiler and flags."""
    sha = hashlib.sha256(emitted.source.encode() + _tools_text(tools))
    for name, array in emitted.constants.items():
        sha.update(f"\n{name} {array.shape}".encode())
        sha.update(np.ascontiguousarray(array, dtype="<f4").data)
    return sha.hexdigest()[:32]


def runtime_parts(tools: Toolchain, cache: Path) -> list[Path]:
    """The runtime's object files, compiled once for these flags.

    The plainest code comes first: the linker takes a function from the first part that has it.
    """
    names = ["entry.o", *(f"runtime{level}.o" for level in range(len(tools.levels)))]
    folder = build_once(cache / "runtime" / tools_digest(tools), partial(_compile_runtime, tools))
    return [folder / name for name in names]


def build_once(folder: Path, compile_into: Callable[[Path], None]) -> Path:
    """`folder`, built by the first process that needs it while the others wait.

    `compile_into` gets a temporary folder that is renamed when it is complete.
    """
    if not folder.is_dir():
        with _lock(folder):
            if not folder.is_dir():  # another process may have built it meanwhile
                with atomic_dir(folder) as fresh:
                    compile_into(fresh)
    return folder


def _compile_runtime(tools: Toolchain, folder: Path) -> None:
    count = f"-DASSAY_LEVELS={len(tools.levels)}"
    tools.compile(RUNTIME / "entry.cpp", folder / "entry.o", RUNTIME, count)
    for level, flags in enumerate(tools.levels):
        more = (*flags, _level_flag(level))
        tools.compile(RUNTIME / "runtime.cpp", folder / f"runtime{level}.o", RUNTIME, *more)


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Lock the build of `folder`, so that no two processes do it at once."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = open(folder.with_name(f"{folder.name}.lock"), "w")  # noqa: SIM115
    except OSError:
        yield  # writing there raises the error
        return
    with lock:
        lock_file(lock)
        try:
            yield
        finally:
            Path(lock.name).unlink(missing_ok=True)


def tools_digest(tools: Toolchain) -> str:
    """Hash of compiler, flags, CPU and runtime."""
    return hashlib.sha256(_tools_text(tools)).hexdigest()[:32]


def _make(
    built: ModelFiles,
    emitted: ModelSource,
    tools: Toolchain,
    runtime: list[Path],
    library: bool = True,
) -> None:
    source = built.folder / f"{built.name}.cpp"
    source.write_text(emitted.source)
    with open(built.weights, "wb") as file:
        write_weights(file, emitted.constants)
    models = [built.folder / f"model{level}.o" for level in range(len(tools.levels))]
    for level, part in enumerate(models):
        # -O0: it runs once, to describe the model
        tools.compile(source, part, RUNTIME, "-O0", _level_flag(level))
    tools.link([*models, *runtime], built.program, shared=False)
    if library:
        tools.link([*models, *runtime], built.library, shared=True)
    for part in models:
        part.unlink()
    if tools.onednn:
        shutil.copy(Path(tools.onednn) / "lib" / "libdnnl.so.3", built.folder)


def _level_flag(level: int) -> str:
    """Flag that selects the inline namespace of a level (`runtime/cpu_level.hpp`)."""
    return f"-DASSAY_LEVEL={level}"


def _tools_text(tools: Toolchain) -> bytes:
    """The compiler, its flags, the CPU of -march=native, and the runtime's sources."""
    sources = sorted(RUNTIME.glob("*.[hc]pp"))
    return b"\n".join(
        [msgspec.json.encode(tools), _cpu().encode(), *(path.read_bytes() for path in sources)]
    )


# Lines of /proc/cpuinfo on which -march=native depends.
CPU_LINES = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU implementer", "CPU part")


def _cpu() -> str:
    """Model and features of the first CPU."""
    lines = {line.partition(":")[0].strip(): line for line in reversed(_cpu_lines())}
    return "\n".join(lines[name] for name in CPU_LINES if name in lines)


def _cpu_lines() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []


def _remove_stale(folder: Path) -> None:
    """Remove folders of killed builds: unchanged for a day."""
    for path in folder.glob(f"{BUILD_PREFIX}*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > DAY:
                shutil.rmtree(path, ignore_errors=True)


@contextmanager
def atomic_dir(folder: Path) -> Iterator[Path]:
    """A temporary folder that is renamed to `folder` at the end, or removed on an error."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(folder.parent)
        fresh = Path(tempfile.mkdtemp(prefix=BUILD_PREFIX, dir=folder.parent))
    except OSError as error:
        raise AssayError(
            f"{folder.parent} cannot be written ({error.strerror}).",
            hint="Builds are cached there; set XDG_CACHE_HOME to another folder.",
        ) from None
    try:
        yield fresh
        fresh.chmod(0o755)
        with suppress(OSError):  # another process may have been faster
            fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


HEAD = "assay-weights 1\n"
ALIGN = 64  # bytes of a cache line, so that no vector straddles two


def write_weights(file: BinaryIO, constants: Mapping[str, Array]) -> None:
    """Write a line `name offset count` for each, an empty line, the numbers; offsets in bytes."""
    start = 0
    while True:  # the length of the index changes its offsets
        offsets = _offsets(constants, start)
        index = "".join(f"{n} {offsets[n]} {a.size}\n" for n, a in constants.items()) or "\n"
        head = f"{HEAD}{index}\n".encode()
        if len(head) <= start:
            break
        start = _align(len(head))
    file.write(head)
    for name, array in constants.items():
        file.write(b"\0" * (offsets[name] - file.tell()))
        file.write(np.ascontiguousarray(array, dtype="<f4").tobytes())


def _offsets(constants: Mapping[str, Array], start: int) -> dict[str, int]:
    offsets = {}
    for name, array in constants.items():
        offsets[name] = start
        start = _align(start + 4 * array.size)
    return offsets


def _align(size: int) -> int:
    return -(-size // ALIGN) * ALIGN
