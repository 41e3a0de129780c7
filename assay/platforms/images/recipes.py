"""Requests for images: frameworks, versions, CUDA, packages, lock file."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from assay import __version__
from assay.core import objects
from assay.core.errors import UsageError, unknown_name_error
from assay.core.files import user_path, write_user_file
from assay.core.options import Flag
from assay.platforms.images.containerfile import ImageRecipe

# Extras of assay, and what a GPU needs in place of the plain package.
FRAMEWORKS: dict[str, tuple[str, ...]] = {
    "torch": ("torch",),
    "jax": ("jax",),
    "tensorflow": ("tensorflow",),
    "keras": ("jax", "tensorflow", "torch"),  # all, as in keras-benchmarks' setup scripts
    "none": (),
}
_ON_GPU = {"jax": "jax[cuda12]", "tensorflow": "tensorflow[and-cuda]", "torch": "torch"}
SYSTEM = ("git", "g++")  # a benchmark's repository, a compiler's backend
CUDA = "12.6.3"
_PYTHON = ("python3", "python3-venv")
# PEP 508 in one line of a requirements file; no options of pip.
_SPEC = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[\w,.-]+\])?\s*([<>=!~]=?[\w.*+!,<>=~ -]+)?")


class ImageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The request of a user; its fields are options of `assay image build`."""

    frameworks: Annotated[
        tuple[str, ...],
        Flag(
            "What is measured; repeatable.",
            "|".join(FRAMEWORKS),
            flags="--framework",
            show_default=False,
        ),
    ] = ("none",)
    specs: Annotated[
        tuple[str, ...],
        Flag(
            "Package and version, or a wheel (a path or gs://…); repeatable.",
            "SPEC",
            flags="--spec",
        ),
    ] = ()
    packages: Annotated[
        tuple[str, ...], Flag("Package of the distribution; repeatable.", flags="--package")
    ] = ()
    base: Annotated[str, Flag("Another image to begin with.", "IMAGE")] = ""
    cuda: Annotated[str, Flag("For a GPU: the version of CUDA.", CUDA)] = ""
    python: Annotated[str, Flag("Version, without --cuda.")] = "3.11"
    lock: Annotated[str, Flag("Pinned packages in place of names.", "FILE")] = ""
    assay: str = f"assay-lab=={__version__}"  # or a wheel; "": the image has it already
    bare: Annotated[bool, Flag("Add no package of the distribution: the base has all.")] = False

    def __post_init__(self) -> None:
        for name in self.frameworks:
            if name not in FRAMEWORKS:
                raise unknown_name_error("framework", name, FRAMEWORKS)
        if self.cuda and not re.fullmatch(r"\d+\.\d+(\.\d+)?", self.cuda):
            raise UsageError(f"'{self.cuda}' is not a version of CUDA.", hint=f"As in: {CUDA}")
        if not re.fullmatch(r"3\.\d{1,2}", self.python):
            raise UsageError(f"'{self.python}' is not a version of Python.", hint="As in: 3.11")
        for spec in (*self.specs, *((self.assay,) if self.assay else ())):
            if not _is_wheel(spec) and not _SPEC.fullmatch(spec):
                raise UsageError(f"'{spec[:80]}' is not a package.", hint="As in: torch==2.13.0")


def recipe(request: ImageRequest) -> tuple[ImageRecipe, list[str]]:
    """The recipe, and the lines of its requirements."""
    lines = _requirements(request)
    on_gpu = f"nvidia/cuda:{request.cuda}-cudnn-runtime-ubuntu24.04"
    base = request.base or (on_gpu if request.cuda else f"python:{request.python}-slim")
    python = _PYTHON if not base.startswith("python:") else ()
    system = () if request.bare else (*python, *SYSTEM)
    wheels = [_name(spec) for spec in (*request.specs, request.assay) if _is_wheel(spec)]
    image_recipe = ImageRecipe(
        base=base,
        title=f"frameworks: {', '.join(request.frameworks)}",
        system=(*system, *request.packages),
        requirements="requirements.txt" if lines else "",
        files=tuple(wheels),
    )
    return image_recipe, lines


def write_build_files(request: ImageRequest, lines: Sequence[str], folder: Path) -> None:
    """Write requirements and wheels to the folder of the Containerfile."""
    if lines:
        write_user_file(folder / "requirements.txt", ("\n".join(lines) + "\n").encode())
    for spec in (*request.specs, request.assay):
        if _is_wheel(spec):
            _copy_wheel(spec, folder / _name(spec))


def _requirements(request: ImageRequest) -> list[str]:
    if request.lock:
        try:
            locked = user_path(request.lock).read_text().splitlines()
        except OSError as error:
            raise UsageError(
                f"The lock {request.lock} cannot be read ({error.strerror}).",
                hint="Check its path.",
            ) from None
        return [*locked, *_own_requirement(request, ())]
    extras = dict.fromkeys(
        name for framework in request.frameworks for name in FRAMEWORKS[framework]
    )
    specified = {re.split(r"[\[<>=!~ ]", spec)[0].lower() for spec in request.specs}
    gpu = [_ON_GPU[name] for name in extras if request.cuda and name not in specified]
    wheels = [f"./{_name(spec)}" for spec in request.specs if _is_wheel(spec)]
    plain = [spec for spec in request.specs if not _is_wheel(spec)]
    return [*_own_requirement(request, tuple(extras)), *gpu, *plain, *wheels]


def _own_requirement(request: ImageRequest, extras: tuple[str, ...]) -> list[str]:
    if not request.assay:
        return []
    chosen = f"[{','.join(extras)}]" if extras else ""
    if _is_wheel(request.assay):
        return [f"./{_name(request.assay)}{chosen}"]
    name, equals, version = request.assay.partition("==")
    return [f"{name}{chosen}{equals}{version}"]


def _is_wheel(spec: str) -> bool:
    return spec.endswith(".whl")


def _name(spec: str) -> str:
    return spec.rpartition("/")[2]


def _copy_wheel(spec: str, target: Path) -> None:
    if objects.is_remote(spec):
        objects.fetch(spec, target)
        return
    source = user_path(spec.removeprefix("file://"))
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise UsageError(
            f"The wheel {source} cannot be read ({error.strerror}).", hint="Check its path."
        ) from None
