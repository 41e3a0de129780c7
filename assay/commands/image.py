"""Images to measure in: written, built, run, listed; each result knows its image's digest."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from assay.cli import options, printing
from assay.core import settings
from assay.core.files import user_file, user_path
from assay.core.findings import Output, Table
from assay.core.progress import ignore
from assay.core.settings import Home
from assay.platforms.images import engines, recipes
from assay.platforms.images.containerfile import containerfile
from assay.platforms.images.engines import ContainerRun, Mount
from assay.platforms.images.recipes import CUDA, FRAMEWORKS, ImageRequest

RESULTS = "/results"  # where a container sees the store
IMAGE = "ASSAY_IMAGE"  # the variable that tells a container which image it is


def image_files(request: ImageRequest) -> dict[str, str]:
    """The Containerfile and its requirements: name → text."""
    recipe, lines = recipes.recipe(request)
    files = {"Containerfile": containerfile(recipe)}
    return files | ({recipe.requirements: "\n".join(lines) + "\n"} if lines else {})


def build_image(
    request: ImageRequest = ImageRequest(),  # noqa: B008 (frozen)
    tag: str = "assay",
    engine: str = "",
    write: str | Path = "",
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
    with tempfile.TemporaryDirectory() as spare:
        folder = user_path(write) if write else Path(spare)
        with user_file(folder / "Containerfile") as temporary:
            temporary.write_text(containerfile(recipe))
        recipes.write_build_files(request, lines, folder)
        engines.follow(engines.build_words(chosen, tag, folder), progress)
    return engines.digest(chosen, tag)


def run_image(
    image: str,
    command: Sequence[str],
    mounts: Sequence[str] = (),
    gpus: bool = False,
    engine: str = "",
    home: Home = None,
) -> int:
    """Run a command in an image, with the store mounted; its exit status.

    Results that are measured there are kept here, and have the image's digest in them.
    """
    engines.check_tag(image)
    chosen = engines.find(engine)
    parsed = [engines.parse_mount(text) for text in mounts]
    store = settings.home(home)
    store.mkdir(parents=True, exist_ok=True)
    run = ContainerRun(
        image=image,
        command=tuple(command),
        mounts=(*parsed, Mount(source=str(store), target=RESULTS)),
        variables={"ASSAY_HOME": RESULTS, IMAGE: engines.digest(chosen, image)},
        gpus=gpus,
    )
    return engines.run_in(chosen, run)


def images(engine: str = "") -> list[tuple[str, str, str]]:
    """Images that assay has built here: name, id, when."""
    return engines.list_images(engines.find(engine))


engine = click.option(
    "--engine", default="", metavar="docker|podman|buildah", help="Default: the first installed."
)


@click.group(
    epilog="""\b
Examples:
  assay image build --framework torch --spec torch==2.13.0 --tag assay/torch:2.13
  assay image run --image assay/torch:2.13 -- assay run mnist-mlp -b torch
  assay image list"""
)
def command() -> None:
    """Build images with a framework in them, and measure there."""


@command.command(
    epilog="""\b
Examples:
  assay image build --framework torch --spec torch==2.13.0 --tag assay/torch:2.13
  assay image build --framework jax --cuda 12.6.3 --tag assay/jax-gpu
  assay image build --framework keras                      as keras-benchmarks' setup_cpu.sh
  assay image build --framework keras --cuda 12.6.3        as its setup_gpu.sh
  assay image build --lock requirements.lock --write ./image --no-build"""
)
@click.option(
    "--framework",
    "frameworks",
    multiple=True,
    default=("none",),
    metavar="|".join(FRAMEWORKS),
    help="What is measured; repeatable.",
)
@click.option(
    "--spec",
    "specs",
    multiple=True,
    metavar="SPEC",
    help="Package and version, or a wheel (a path or gs://…); repeatable.",
)
@click.option("--lock", default="", metavar="FILE", help="Pinned packages in place of names.")
@click.option(
    "--package", "packages", multiple=True, help="Package of the distribution; repeatable."
)
@click.option("--cuda", default="", metavar=CUDA, help="For a GPU: the version of CUDA.")
@click.option("--base", default="", metavar="IMAGE", help="Another image to begin with.")
@click.option("--bare", is_flag=True, help="Add no package of the distribution: the base has all.")
@click.option("--python", default="3.11", show_default=True, help="Version, without --cuda.")
@click.option("--assay", "own", default=None, metavar="SPEC", help="assay's version or wheel.")
@click.option("--tag", default="assay", show_default=True, help="Name of the image.")
@click.option("--write", default="", metavar="FOLDER", help="Leave the Containerfile there.")
@click.option("--no-build", is_flag=True, help="Only write or print the Containerfile.")
@engine
def build(
    tag: str,
    write: str,
    no_build: bool,
    engine: str,
    own: str | None,
    **given: Any,
) -> int:
    """Build an image from assay's template."""
    if own is not None:
        given["assay"] = own
    request = ImageRequest(**given)
    if no_build:
        for name, text in image_files(request).items():
            if write:
                with user_file(user_path(write) / name) as temporary:
                    temporary.write_text(text)
            else:
                printing.put(f"# {name}", text)
        return 0
    options.print_message(f"building {tag} …")
    printing.put(build_image(request, tag, engine, write, options.print_message))
    return 0


@command.command(
    epilog="""\b
Examples:
  assay image run -- assay run mnist-mlp
  assay image run --image assay/torch:2.13 -- assay run mnist-mlp -b torch
  assay image run --image assay/jax-gpu --gpus --mount ./data:/data:ro -- assay doctor"""
)
@click.argument("words", nargs=-1, required=True, metavar="COMMAND…", type=click.UNPROCESSED)
@click.option("--image", "name", default="assay", show_default=True, help="Image to run it in.")
@click.option("--mount", "mounts", multiple=True, metavar="FOLDER:PLACE[:ro]", help="Repeatable.")
@click.option("--gpus", is_flag=True, help="Give it the GPUs.")
@engine
@options.home
def run(
    name: str,
    words: tuple[str, ...],
    mounts: tuple[str, ...],
    gpus: bool,
    engine: str,
    home: str | None,
) -> int:
    """Run a command in an image; results are kept in the store here."""
    return run_image(name, words, mounts, gpus, engine, home)


@command.command("list", epilog="\b\nExample:\n  assay image list --format json")
@engine
@options.form
def list_(engine: str, form: str) -> int:
    """List the images that assay has built here."""
    table = Table(columns=("image", "id", "made"), rows=tuple(images(engine)))
    printing.show(Output(tables=(table,)), form)
    return 0
