"""Images to measure in: written, built, run, listed; each result knows its image's digest."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import click
import msgspec

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.core import settings
from assay.core.files import user_path, write_user_file
from assay.core.findings import Output, Table
from assay.core.options import Argument, Flag, Format, StoreUrl, accept_old_keywords
from assay.core.progress import ignore
from assay.platforms.images import engines, recipes
from assay.platforms.images.containerfile import containerfile
from assay.platforms.images.engines import ContainerRun, Mount
from assay.platforms.images.recipes import ImageRequest

Engine = Annotated[str, Flag("Default: the first installed.", "docker|podman|buildah")]
RESULTS = "/results"  # where a container sees the store
IMAGE = "ASSAY_IMAGE"  # the variable that tells a container which image it is


def image_files(request: ImageRequest) -> dict[str, str]:
    """The Containerfile and its requirements: name → text."""
    recipe, lines = recipes.recipe(request)
    files = {"Containerfile": containerfile(recipe)}
    return files | ({recipe.requirements: "\n".join(lines) + "\n"} if lines else {})


def build_image(
    request: ImageRequest = ImageRequest(),  # noqa: B008 (frozen)
    tag: Annotated[str, Flag("Name of the image.")] = "assay",
    engine: Engine = "",
    write: Annotated[str | Path, Flag("Leave the Containerfile there.", "FOLDER")] = "",
    progress: Callable[[str], None] = ignore,
) -> str:
    """Build an image to measure in; its digest. With `write`, its files are left in that folder.

    `progress` is given each line that the engine says.

    >>> request = assay.ImageRequest(frameworks=("torch",), specs=("torch==2.13.0",))
    >>> digest = assay.build_image(request, tag="assay/torch:2.13")
    """
    engines.check_tag(tag)
    chosen = engines.find(engine)
    recipe, lines = recipes.recipe(request)
    recipe = msgspec.structs.replace(recipe, base=engines.pin(chosen, recipe.base))
    with tempfile.TemporaryDirectory() as spare:
        folder = user_path(write) if write else Path(spare)
        write_user_file(folder / "Containerfile", containerfile(recipe).encode())
        recipes.write_build_files(request, lines, folder)
        hint = "" if write else "To see its files: the same with --write FOLDER"
        engines.follow(engines.build_words(chosen, tag, folder), progress, hint)
    return engines.digest(chosen, tag)


@accept_old_keywords(home="store")
def run_image(
    image: str,
    command: Sequence[str],
    mounts: Annotated[
        Sequence[str], Flag("Repeatable.", "FOLDER:PLACE[:ro]", flags="--mount")
    ] = (),
    gpus: Annotated[bool, Flag("Give it the GPUs.")] = False,
    engine: Engine = "",
    store: StoreUrl = None,
) -> int:
    """Run a command in an image, with the store mounted; its exit status.

    Results that are measured there are kept here, and have the image's digest in them.
    """
    engines.check_tag(image)
    chosen = engines.find(engine)
    parsed = [engines.parse_mount(text) for text in mounts]
    folder = settings.home(store)
    folder.mkdir(parents=True, exist_ok=True)
    run = ContainerRun(
        image=image,
        command=tuple(command),
        mounts=(*parsed, Mount(source=str(folder), target=RESULTS)),
        variables={"ASSAY_HOME": RESULTS, IMAGE: engines.digest(chosen, image)},
        gpus=gpus,
    )
    return engines.run_in(chosen, run)


def images(engine: Engine = "") -> list[tuple[str, str, str]]:
    """Images that assay has built here: name, id, when."""
    return engines.list_images(engines.find(engine))


@click.group(
    epilog="""\b
Examples:
  assay image build --framework torch --spec torch==2.13.0 --tag assay/torch:2.13
  assay image run --image assay/torch:2.13 -- assay run mnist-mlp -b torch
  assay image list"""
)
def command() -> None:
    """Build images with a framework in them, and measure there."""


@click_command(
    ImageRequest,
    build_image,
    group=command,
    without=("tag", "engine", "write"),
    epilog="""\b
Examples:
  assay image build --framework torch --spec torch==2.13.0 --tag assay/torch:2.13
  assay image build --framework jax --cuda 12.6.3 --tag assay/jax-gpu
  assay image build --framework keras                      as keras-benchmarks' setup_cpu.sh
  assay image build --framework keras --cuda 12.6.3        as its setup_gpu.sh
  assay image build --lock requirements.lock --write ./image --no-build""",
)
def build(
    keywords: Keywords,
    *,
    assay: Annotated[str | None, Flag("assay's version or wheel.", "SPEC")] = None,
    tag: str,
    write: str,
    no_build: Annotated[bool, Flag("Only write or print the Containerfile.")] = False,
    engine: str,
) -> int:
    """Build an image from assay's template."""
    if assay is not None:
        keywords["assay"] = assay
    request = ImageRequest(**keywords)
    if no_build:
        for name, text in image_files(request).items():
            if write:
                write_user_file(user_path(write) / name, text.encode())
            else:
                printing.put(f"# {name}", text)
        return 0
    options.print_message(f"building {tag} …")
    printing.put(build_image(request, tag, engine, write, options.print_message))
    return 0


@click_command(
    run_image,
    group=command,
    epilog="""\b
Examples:
  assay image run -- assay run mnist-mlp
  assay image run --image assay/torch:2.13 -- assay run mnist-mlp -b torch
  assay image run --image assay/jax-gpu --gpus --mount ./data:/data:ro -- assay doctor""",
)
def run(
    words: Annotated[tuple[str, ...], Argument("COMMAND…", required=True)],
    keywords: Keywords,
    *,
    image: Annotated[str, Flag("Image to run it in.")] = "assay",
) -> int:
    """Run a command in an image; results are kept in the store here."""
    return run_image(image, words, **keywords)


@click_command(
    images, group=command, name="list", epilog="\b\nExample:\n  assay image list --format json"
)
def list_(engine: str, format: Format = "text") -> int:
    """List the images that assay has built here."""
    table = Table(columns=("image", "id", "made"), rows=tuple(images(engine)))
    printing.show(Output(tables=(table,)), format)
    return 0
