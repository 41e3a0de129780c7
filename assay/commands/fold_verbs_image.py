"""Images to measure in: written, built, run, listed; each result knows its image's digest."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from assay.core import settings
from assay.core.files import user_file, user_path
from assay.core.progress import ignore
from assay.core.settings import Home
from assay.platforms.images import engines, recipes
from assay.platforms.images.containerfile import containerfile
from assay.platforms.images.engines import ContainerRun, Mount
from assay.platforms.images.recipes import ImageRequest

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
        recipes.fill(request, lines, folder)
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
    return engines.listed(engines.find(engine))
