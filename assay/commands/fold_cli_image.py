"""assay image: images to measure in."""

from __future__ import annotations

from typing import Any

import click

from assay.cli import options, printing
from assay.commands import fold_verbs_image
from assay.core.files import user_file, user_path
from assay.core.findings import Output, Table
from assay.platforms.images.recipes import CUDA, FRAMEWORKS, ImageRequest

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
    **given: Any,  # noqa: ANN401
) -> int:
    """Build an image from assay's template."""
    if own is not None:
        given["assay"] = own
    request = ImageRequest(**given)
    if no_build:
        for name, text in fold_verbs_image.image_files(request).items():
            if write:
                with user_file(user_path(write) / name) as temporary:
                    temporary.write_text(text)
            else:
                printing.put(f"# {name}", text)
        return 0
    options.say(f"building {tag} …")
    printing.put(fold_verbs_image.build_image(request, tag, engine, write, options.say))
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
    return fold_verbs_image.run_image(name, words, mounts, gpus, engine, home)


@command.command("list", epilog="\b\nExample:\n  assay image list --format json")
@engine
@options.form
def list_(engine: str, form: str) -> int:
    """List the images that assay has built here."""
    table = Table(columns=("image", "id", "made"), rows=tuple(fold_verbs_image.images(engine)))
    printing.show(Output(tables=(table,)), form)
    return 0
