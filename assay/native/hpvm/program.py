"""Compile HPVM-C as ordinary C++; the native compiler builds its graph."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from assay.core.errors import AssayError, UsageError
from assay.core.files import user_file, user_path, write_user_file
from assay.native.build import RUNTIME, build_once, default_cache, tools_digest
from assay.native.hpvm.builder import ModelSettings
from assay.native.toolchain import Toolchain, toolchain

SHIM = Path(__file__).parent / "shim"
# Leaf functions have sizes that they never read; other warnings are for the program's author.
WARNING_FLAGS = ("-Wno-conversion", "-Wno-unused-parameter")


class HpvmRun(msgspec.Struct, frozen=True, kw_only=True):
    """Exit status and output of an HPVM-C program."""

    status: int
    output: str
    error: str
    accuracy: float | None  # percent, of final_accuracy; None: it wrote none
    batches: tuple[float, ...]  # seconds of each


def compile_program(
    source: str | Path, target: str | Path, settings: ModelSettings | None = None
) -> Path:
    """Compile to `target`, which needs only the models that are built next to it."""
    settings = settings or ModelSettings()
    path = user_path(source)
    if not path.is_file():
        raise UsageError(f"There is no program {path}.", hint="Give a file of HPVM-C.")
    tools = toolchain("portable", settings.portable, settings.sanitize)
    shim = _shim(tools, settings)
    with tempfile.TemporaryDirectory(prefix="assay-hpvm-") as folder:
        object_file, executable = Path(folder) / "program.o", Path(folder) / "program"
        tools.compile(path, object_file, SHIM, *WARNING_FLAGS, "-O1")
        tools.link([object_file, shim], executable, shared=False)
        with user_file(target) as temporary:  # for a clear error, which a linker does not give
            shutil.copy(executable, temporary)
    return user_path(target)


def build_models(program: Path, folder: Path, settings: ModelSettings | None = None) -> None:
    """Build the models of the first graph that a program launches, next to the program."""
    variables = {**_variables(settings), "ASSAY_HPVM_STOP": "built"}
    variables.pop("ASSAY_HPVM_MODELS")
    process = _run(program, (), folder, variables)
    models = program.parent / "hpvm_models"
    if process.returncode or not any(models.glob("*")):
        raise _run_error(program, process)
    write_user_file(models / "build", variables["ASSAY_HPVM_BUILD"].encode())  # for configurations


def execute(
    program: Path,
    words: Sequence[str] = (),
    folder: str | Path = ".",
    data: str | Path = "",
    settings: ModelSettings | None = None,
    threads: int = 0,
) -> HpvmRun:
    """Run a program in `folder`; missing models are built and cached."""
    cwd = user_path(folder).absolute()
    variables = _variables(settings)
    if data:
        variables["ASSAY_HPVM_DATA"] = str(user_path(data).absolute())
    if threads:
        variables["ASSAY_THREADS"] = str(threads)
    for name in ("final_accuracy", "profile_info.txt"):
        (cwd / name).unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="assay-hpvm-") as temporary:
        times = Path(temporary) / "times"
        process = _run(program, words, cwd, variables | {"ASSAY_TIMES": str(times)})
        return HpvmRun(
            status=process.returncode,
            output=process.stdout,
            error=process.stderr,
            accuracy=_accuracy(cwd / "final_accuracy"),
            batches=_batches(cwd / "profile_info.txt") or _launches(times),
        )


def _shim(tools: Toolchain, settings: ModelSettings) -> Path:
    """The runtime behind hpvm.h, compiled once for these flags."""
    sources = [*sorted(SHIM.iterdir()), RUNTIME / "configuration.hpp"]
    text = msgspec.json.encode(tools) + b"".join(path.read_bytes() for path in sources)
    cache = Path(settings.cache) if settings.cache else default_cache()
    digest = hashlib.sha256(text).hexdigest()[:32]

    def compile_into(folder: Path) -> None:
        tools.compile(SHIM / "shim.cpp", folder / "shim.o", SHIM, "-O1")

    return build_once(cache / "runtime" / f"hpvm-{digest}", compile_into) / "shim.o"


def _variables(settings: ModelSettings | None) -> dict[str, str]:
    """Environment to build models; -P: do not import from the working directory."""
    settings = settings or ModelSettings()
    command = [sys.executable, "-P", "-m", "assay.worker.hpvm_model"]
    cache = Path(settings.cache) if settings.cache else default_cache()
    kind = tools_digest(toolchain(settings.kernels, settings.portable, settings.sanitize))
    sampling = "corrected" if settings.correct else "scaled"
    return {
        "ASSAY_HPVM_BUILD": "\n".join([*command, msgspec.json.encode(settings).decode()]),
        "ASSAY_HPVM_MODELS": str(cache / f"hpvm-models-{sampling}-{kind}"),
    }


def _run(
    program: Path, words: Sequence[str], folder: Path, variables: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [str(program.absolute()), *words],
            cwd=folder,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise AssayError(
            f"{program} cannot be started ({error.strerror}).", hint="Build it again."
        ) from None


def _run_error(program: Path, process: subprocess.CompletedProcess[str]) -> AssayError:
    lines = [line for line in process.stderr.splitlines() if line.strip()]
    message = next(
        (line for line in lines if line.startswith("error: ")), lines[-1] if lines else ""
    )
    return AssayError(
        f"{program.name} was compiled, but does not run: "
        f"{message.removeprefix('error: ') or f'it ended with status {process.returncode}'}",
        hint="Does it launch a graph, and are its files of weights where it looks for them?",
    )


def _accuracy(path: Path) -> float | None:
    try:
        return float(path.read_text())
    except (OSError, ValueError):
        return None


def _batches(path: Path) -> tuple[float, ...]:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return ()
    times = (line for line in lines if line.startswith("Iteration Compute Time"))
    return tuple(float(line.split()[-1]) / 1e3 for line in times)


def _launches(path: Path) -> tuple[float, ...]:
    """Seconds of each launch, of a program that does not profile itself."""
    try:
        return tuple(map(float, path.read_text().split()))
    except (OSError, ValueError):
        return ()
