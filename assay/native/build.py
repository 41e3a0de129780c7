"""Source and weights → a program and a library, kept so that the same model is built once."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np

from assay.core.errors import AssayError
from assay.core.files import user_path
from assay.native.emit import Emitted
from assay.native.graph import Array
from assay.native.toolchain import Toolchain

RUNTIME = Path(__file__).parent / "runtime"
BEGUN, DAY = ".building-", 24 * 3600  # how folders begin that are being filled; seconds


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """Files of one model, all in one folder of the cache."""

    folder: Path
    name: str
    cached: bool  # it had been built before

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
        """What a user gets: the program, what it needs beside it, and its source."""
        found = (self.program, self.weights, self.folder / f"{self.name}.cpp")
        return found + tuple(self.folder.glob("libdnnl.so*"))


def build(
    emitted: Emitted, tools: Toolchain, cache: Path | None = None, folder: Path | None = None
) -> Built:
    """Nothing half-written is ever seen: a folder takes its name when all of it is there.

    `folder` is for a model that is not to be kept in the cache, as the runtime is.
    """
    kept = cache or default_cache()
    folder = folder or kept / digest(emitted, tools)
    built = Built(folder=folder, name=emitted.name, cached=folder.is_dir())
    if not built.cached:
        parts = runtime_parts(tools, kept)
        with filled(folder) as fresh:
            _make(msgspec.structs.replace(built, folder=fresh), emitted, tools, parts)
    return built


def build_in(folder: Path, emitted: Emitted, tools: Toolchain) -> Built:
    """The program alone, in a folder of the caller's: for what is tried and not kept."""
    built = Built(folder=folder, name=emitted.name, cached=False)
    _make(built, emitted, tools, runtime_parts(tools, default_cache()), library=False)
    return built


def default_cache() -> Path:
    """$XDG_CACHE_HOME/assay/native, else ~/.cache/assay/native."""
    return user_path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "assay" / "native"


def digest(emitted: Emitted, tools: Toolchain) -> str:
    """The same for the same source, weights, runtime, compiler and flags."""
    found = hashlib.sha256(emitted.source.encode() + _tools_text(tools))
    for name, array in emitted.constants.items():
        found.update(f"\n{name} {array.shape}".encode())
        found.update(np.ascontiguousarray(array, dtype="<f4").data)
    return found.hexdigest()[:32]


def runtime_parts(tools: Toolchain, cache: Path) -> list[Path]:
    """The runtime, compiled once for these flags: a model is then a second's work.

    The plainest code comes first: a function that several parts have is taken from the first.
    """
    folder = cache / f"runtime-{tools_digest(tools)}"
    names = ["entry.o", *(f"runtime{level}.o" for level in range(len(tools.levels)))]
    if not folder.is_dir():
        with _alone(folder):
            _compile_runtime(tools, folder)
    return [folder / name for name in names]


def _compile_runtime(tools: Toolchain, folder: Path) -> None:
    if folder.is_dir():
        return  # another has made it meanwhile
    with filled(folder) as fresh:
        count = f"-DASSAY_LEVELS={len(tools.levels)}"
        tools.compile(RUNTIME / "entry.cpp", fresh / "entry.o", RUNTIME, count)
        for level, flags in enumerate(tools.levels):
            more = (*flags, *_named(level))
            tools.compile(RUNTIME / "runtime.cpp", fresh / f"runtime{level}.o", RUNTIME, *more)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """The only one to make `folder`: what takes a minute is waited for, and not made twice."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = open(folder.with_name(f"{folder.name}.lock"), "w")  # noqa: SIM115
    except OSError:
        yield  # whoever writes there will tell
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            Path(lock.name).unlink(missing_ok=True)


def tools_digest(tools: Toolchain) -> str:
    """The same for the same compiler, flags, CPU and runtime."""
    return hashlib.sha256(_tools_text(tools)).hexdigest()[:32]


def _make(
    built: Built, emitted: Emitted, tools: Toolchain, runtime: list[Path], library: bool = True
) -> None:
    source = built.folder / f"{built.name}.cpp"
    source.write_text(emitted.source)
    with open(built.weights, "wb") as file:
        write_weights(file, emitted.constants)
    models = [built.folder / f"model{level}.o" for level in range(len(tools.levels))]
    for level, part in enumerate(models):
        # It runs once, to describe the model: there is nothing to make quick in it.
        tools.compile(source, part, RUNTIME, "-O0", *_named(level))
    tools.link([*models, *runtime], built.program, shared=False)
    if library:
        tools.link([*models, *runtime], built.library, shared=True)
    for part in models:
        part.unlink()
    if tools.onednn:
        shutil.copy(Path(tools.onednn) / "lib" / "libdnnl.so.3", built.folder)


def _named(level: int) -> tuple[str, ...]:
    """Flags that give a level names of its own, so that several can be in one program."""
    return (f"-DASSAY_TABLE=assay_level_{level}", *((f"-Dassay=assay{level}",) if level else ()))


def _tools_text(tools: Toolchain) -> bytes:
    """The compiler, its flags, the CPU that -march=native means, and the runtime's sources."""
    sources = sorted(RUNTIME.glob("*.[hc]pp"))
    cpu = next((line for line in _cpu_lines() if line.startswith(("flags", "Features"))), "")
    return b"\n".join(
        [msgspec.json.encode(tools), cpu.encode(), *(path.read_bytes() for path in sources)]
    )


def _cpu_lines() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []


def _forget_killed(folder: Path) -> None:
    """What builds have left that were killed: nothing was added to it for a day."""
    for begun in folder.glob(f"{BEGUN}*"):
        with suppress(OSError):
            if time.time() - begun.stat().st_mtime > DAY:
                shutil.rmtree(begun, ignore_errors=True)


@contextmanager
def filled(folder: Path) -> Iterator[Path]:
    """A fresh folder beside `folder` that takes its name at the end, or is gone."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _forget_killed(folder.parent)
        fresh = Path(tempfile.mkdtemp(prefix=BEGUN, dir=folder.parent))
    except OSError as error:
        raise AssayError(
            f"{folder.parent} cannot be written ({error.strerror}).",
            hint="What is built is kept there; XDG_CACHE_HOME names another place for caches.",
        ) from None
    try:
        yield fresh
        fresh.chmod(0o755)
        with suppress(OSError):  # another process may have been quicker
            fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


HEAD = "assay-weights 1\n"
ALIGN = 64  # bytes: a cache line, so that vectors of a constant never straddle two


def write_weights(file: BinaryIO, constants: Mapping[str, Array]) -> None:
    """A line `name offset count` for each, an empty line, then the numbers; offsets in bytes."""
    start = 0
    while True:  # the index's own length moves what it tells
        offsets = _offsets(constants, start)
        index = "".join(f"{n} {offsets[n]} {a.size}\n" for n, a in constants.items()) or "\n"
        head = f"{HEAD}{index}\n".encode()
        if len(head) <= start:
            break
        start = _aligned(len(head))
    file.write(head)
    for name, array in constants.items():
        file.write(b"\0" * (offsets[name] - file.tell()))
        file.write(np.ascontiguousarray(array, dtype="<f4").tobytes())


def _offsets(constants: Mapping[str, Array], start: int) -> dict[str, int]:
    found = {}
    for name, array in constants.items():
        found[name] = start
        start = _aligned(start + 4 * array.size)
    return found


def _aligned(size: int) -> int:
    return -(-size // ALIGN) * ALIGN
