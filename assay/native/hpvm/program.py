"""HPVM-C as a program: compiled as ordinary C++, its graph built by the native compiler."""

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
from assay.core.files import user_file, user_path, write_whole
from assay.native.build import RUNTIME, default_cache, filled, tools_digest
from assay.native.hpvm.builder import ModelSettings
from assay.native.toolchain import Toolchain, toolchain

SHIM = Path(__file__).parent / "shim"
# Leaf functions have sizes that they never read; what else a program warns of is its writer's.
LENIENT = ("-Wno-conversion", "-Wno-unused-parameter")


class HpvmRun(msgspec.Struct, frozen=True, kw_only=True):
    """How an HPVM-C program ended, and what it wrote."""

    status: int
    output: str
    error: str
    accuracy: float | None  # percent, of final_accuracy; None: it wrote none
    batches: tuple[float, ...]  # seconds of each, of profile_info.txt


def compile_program(
    source: str | Path, target: str | Path, settings: ModelSettings | None = None
) -> Path:
    """`target`, which needs only the models that are built beside it to run."""
    settings = settings or ModelSettings()
    place = user_path(source)
    if not place.is_file():
        raise UsageError(f"There is no program {place}.", hint="Give a file of HPVM-C.")
    tools = toolchain("portable", settings.portable, settings.sanitize)
    shim = _shim(tools, settings)
    with tempfile.TemporaryDirectory(prefix="assay-hpvm-") as folder:
        part, linked = Path(folder) / "program.o", Path(folder) / "program"
        tools.compile(place, part, SHIM, *LENIENT, "-O1")
        tools.link([part, shim], linked, shared=False)
        with user_file(target) as temporary:  # a linker would not say why
            shutil.copy(linked, temporary)
    return user_path(target)


def build_models(program: Path, folder: Path, settings: ModelSettings | None = None) -> None:
    """Those of the graph that a program launches first, beside it: it then needs nothing else."""
    variables = {**_variables(settings), "ASSAY_HPVM_STOP": "built"}
    variables.pop("ASSAY_HPVM_MODELS")
    ended = _started(program, (), folder, variables)
    models = program.parent / "hpvm_models"
    if ended.returncode or not any(models.glob("*")):
        raise _failed(program, ended)
    write_whole(models / "build", variables["ASSAY_HPVM_BUILD"].encode())  # for configurations


def run_compiled(
    program: Path,
    words: Sequence[str] = (),
    folder: str | Path = ".",
    data: str | Path = "",
    settings: ModelSettings | None = None,
    threads: int = 0,
) -> HpvmRun:
    """In `folder`, where it writes; models that are not there yet are built and kept."""
    place = user_path(folder).absolute()
    variables = _variables(settings)
    if data:
        variables["ASSAY_HPVM_DATA"] = str(user_path(data).absolute())
    if threads:
        variables["ASSAY_THREADS"] = str(threads)
    for name in ("final_accuracy", "profile_info.txt"):
        (place / name).unlink(missing_ok=True)
    ended = _started(program, words, place, variables)
    return HpvmRun(
        status=ended.returncode,
        output=ended.stdout,
        error=ended.stderr,
        accuracy=_accuracy(place / "final_accuracy"),
        batches=_batches(place / "profile_info.txt"),
    )


def _shim(tools: Toolchain, settings: ModelSettings) -> Path:
    """The runtime behind hpvm.h, compiled once for these flags."""
    sources = [*sorted(SHIM.iterdir()), RUNTIME / "configuration.hpp"]
    text = msgspec.json.encode(tools) + b"".join(path.read_bytes() for path in sources)
    cache = Path(settings.cache) if settings.cache else default_cache()
    folder = cache / f"hpvm-{hashlib.sha256(text).hexdigest()[:32]}"
    if not folder.is_dir():
        with filled(folder) as fresh:
            tools.compile(SHIM / "shim.cpp", fresh / "shim.o", SHIM, "-O1")
    return folder / "shim.o"


def _variables(settings: ModelSettings | None) -> dict[str, str]:
    """What lets a program build its models; -P: nothing of the folder it runs in is imported."""
    settings = settings or ModelSettings()
    command = [sys.executable, "-P", "-m", "assay.worker.hpvm_model"]
    cache = Path(settings.cache) if settings.cache else default_cache()
    kind = tools_digest(toolchain(settings.kernels, settings.portable, settings.sanitize))
    return {
        "ASSAY_HPVM_BUILD": "\n".join([*command, msgspec.json.encode(settings).decode()]),
        "ASSAY_HPVM_MODELS": str(cache / f"hpvm-models-{kind}"),
    }


def _started(
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


def _failed(program: Path, ended: subprocess.CompletedProcess[str]) -> AssayError:
    lines = [line for line in ended.stderr.splitlines() if line.strip()]
    said = next((line for line in lines if line.startswith("error: ")), lines[-1] if lines else "")
    return AssayError(
        f"{program.name} was compiled, but does not run: "
        f"{said.removeprefix('error: ') or f'it ended with status {ended.returncode}'}",
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
