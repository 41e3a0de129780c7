"""assay perfzero-setup: the ten flags of PerfZero's setup.py."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.commands import image
from assay.commands.bench.fetch import fetch_if_missing
from assay.core.corrupt import explain_write_errors
from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.files import user_path
from assay.core.options import Argument, Flag
from assay.core.redaction import safe_text
from assay.formats.perfzero.setup import Download
from assay.platforms.images import engines
from assay.platforms.images.recipes import ImageRequest
from assay.platforms.sinks import credentials

TEMPLATE = "assay"  # instead of a Dockerfile in PerfZero's checkout
_NAME = re.compile(r"\w[\w.-]{0,99}", re.ASCII)  # of a folder in site-packages
Say = Callable[[str], None]


class SetupRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The flags of PerfZero's setup.py."""

    dockerfile_path: Annotated[str, Flag("A Dockerfile, an image as *.tar.gz, or '' for none.")] = (
        "assay"
    )
    workspace: Annotated[str, Flag("Folder for what is fetched.")] = "workspace"
    gcloud_key_file_url: Annotated[str, Flag("Key file of Google Cloud, for gs:// URLs.")] = ""
    root_data_dir: Annotated[str, Flag("Where a drive of local SSDs is mounted.")] = "/data"
    gce_nvme_raid: Annotated[
        str | None, Flag("Not empty: all local NVMe disks become one drive there.")
    ] = None
    tensorflow_pip_spec: Annotated[
        str | None, Flag("Package, package==version, or a wheel (path, gs://…).")
    ] = None
    extra_pip_specs: Annotated[str, Flag("More packages, by semicolons.")] = ""
    docker_tag: Annotated[str, Flag("Name of the image.")] = "perfzero/tensorflow"
    site_package_downloads: Annotated[
        str, Flag("dir:name,… folders copied to WORKSPACE/site-packages.")
    ] = ""
    extra_docker_build_args: Annotated[
        tuple[str, ...], Flag("NAME=VALUE for the Dockerfile; repeatable.", "TEXT")
    ] = ()


def set_up(request: SetupRequest, engine: str, dry_run: bool, say: Say) -> dict[str, float]:
    """Set up what the flags request; returns seconds under PerfZero's names."""
    _check(request)
    seconds: dict[str, float] = {}
    for source, target in site_packages(request):
        say(f"{source} is copied to {target}")
        if not dry_run:
            _copy(source, target)
    with credentials.use_key(request.gcloud_key_file_url or ""):
        if request.gce_nvme_raid:
            seconds["create_drive"] = _time_call(
                lambda: _drive(request.root_data_dir, dry_run, say)
            )
        path = request.dockerfile_path
        if path.endswith(".tar.gz"):
            seconds["load_docker"] = _time_call(lambda: _load(request, engine, dry_run, say))
        elif path:
            seconds["build_docker"] = _time_call(lambda: _build(request, engine, dry_run, say))
    return seconds


def specs(request: SetupRequest) -> tuple[str, ...]:
    """Pip requirements. PerfZero dropped the semicolons and joined two packages into one word."""
    tensorflow = [request.tensorflow_pip_spec] if request.tensorflow_pip_spec else []
    more = (request.extra_pip_specs or "").replace(";", " ").split()
    return (*tensorflow, *more)


def site_packages(request: SetupRequest) -> list[tuple[Path, Path]]:
    """Source folders and their targets, where --python_path of `assay perfzero` looks."""
    copies = []
    target = user_path(request.workspace).absolute() / "site-packages"
    for text in filter(None, (request.site_package_downloads or "").split(",")):
        folder, _, name = text.rpartition(":")
        if not _NAME.fullmatch(name) or not user_path(folder or ".missing").is_dir():
            raise UsageError(
                f"--site_package_downloads got '{text[:80]}'.",
                hint="It takes FOLDER:NAME, by commas: a folder that is there, and its new name.",
            )
        copies.append((user_path(folder).absolute(), target / name))
    return copies


def drive_commands(devices: list[str], mount_point: str) -> list[list[str]]:
    """Commands that mount local disks as one drive: RAID 0 for several, else the disk."""
    disk = devices[0] if len(devices) == 1 else "/dev/md0"
    raid = ["mdadm", "--create", disk, "--level=0", f"--raid-devices={len(devices)}", *devices]
    return [
        *([raid] if len(devices) > 1 else []),
        ["mkfs.ext4", "-F", disk],
        ["mkdir", "-p", mount_point],
        ["mount", disk, mount_point],
        ["chmod", "a+w", mount_point],
    ]


def _check(request: SetupRequest) -> None:
    engines.check_tag(request.docker_tag)
    for argument in request.extra_docker_build_args:
        if "=" not in argument or argument.startswith("-"):
            raise UsageError(
                f"--extra_docker_build_args got '{argument}'.", hint="It takes NAME=VALUE."
            )
    site_packages(request)
    path = request.dockerfile_path
    if path and path != TEMPLATE and not path.endswith(".tar.gz"):
        find_dockerfile(path)


def find_dockerfile(path: str) -> Path:
    """The Dockerfile, here or below perfzero/, as from the root of PerfZero's checkout."""
    places = [user_path(path), Path("perfzero") / path]
    for place in places:
        if place.is_file():
            return place
    raise UsageError(
        f"There is no Dockerfile {path}, also not in perfzero/.",
        hint=f"Leave it out for assay's own template, or say --dockerfile_path={TEMPLATE}.",
    )


def _build(request: SetupRequest, engine: str, dry_run: bool, say: Say) -> None:
    path = request.dockerfile_path
    if path == TEMPLATE:
        image_request = ImageRequest(frameworks=("tensorflow",), specs=specs(request))
        if dry_run:
            say(image.image_files(image_request)["Containerfile"])
        else:
            built = image.build_image(image_request, request.docker_tag, engine)
            say(f"{request.docker_tag}: {built}")
        return
    build_args = (
        f"tensorflow_pip_spec={request.tensorflow_pip_spec or ''}",
        "local_tensorflow_pip_spec=EMPTY",
        f"extra_pip_specs={' '.join(specs(request)[1:])}",
        *request.extra_docker_build_args,
    )
    program = engines.find(engine) if not dry_run else engine or "docker"
    source = find_dockerfile(path)
    by_hand = engines.build_words(
        program, request.docker_tag, source.parent, build_args, source.name
    )
    if dry_run:
        say(" ".join(by_hand))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "Dockerfile").write_bytes(source.read_bytes())
        words = engines.build_words(program, request.docker_tag, folder, build_args, "Dockerfile")
        engines.ask(words, hint=f"To see it: {safe_text(' '.join(by_hand))}")


def _load(request: SetupRequest, engine: str, dry_run: bool, say: Say) -> None:
    url = request.dockerfile_path
    archive = Path(request.workspace).absolute() / url.rpartition("/")[2]
    program = engines.find(engine) if not dry_run else engine or "docker"
    if dry_run:
        say(f"{program} load -i {archive}")
        return
    local = Path(url).is_file()
    if not local:
        fetch_if_missing(Download(url=url, path=archive))
    engines.load(program, Path(url) if local else archive)


def _copy(source: Path, target: Path) -> None:
    """Replace `target`; the old copy is removed after the new one is complete."""
    fresh = target.with_name(f".new-{target.name}")
    with explain_write_errors(target):
        if fresh.exists():
            shutil.rmtree(fresh)
        shutil.copytree(source, fresh, symlinks=True)
        if target.exists():
            shutil.rmtree(target)
        fresh.rename(target)


def _drive(mount_point: str, dry_run: bool, say: Say) -> None:
    if Path(mount_point).is_mount():
        say(f"{mount_point} is a drive already")
        return
    devices = _devices()
    if not devices:
        raise NotPossibleError("There is no local NVMe disk.", hint="Leave --gce_nvme_raid out.")
    for words in drive_commands(devices, mount_point):
        say(" ".join(words))
        if not dry_run:
            engines.ask(words)


def _devices() -> list[str]:
    """Unmounted NVMe disks, without partitions."""
    try:
        listed = engines.ask(["lsblk", "-n", "-p", "-l", "-o", "NAME,MOUNTPOINT"])
    except (FileNotFoundError, AssayError):
        return []
    used = {line.split()[0] for line in listed.splitlines() if len(line.split()) > 1}
    disks = [line.split()[0] for line in listed.splitlines() if "/dev/nvme" in line]
    whole_disks = [
        name for name in disks if not any(o != name and name.startswith(o) for o in disks)
    ]
    return [name for name in whole_disks if not any(part.startswith(name) for part in used)]


def _time_call(work: Callable[[], Any]) -> float:
    start = time.monotonic()
    work()
    return time.monotonic() - start


@click_command(
    SetupRequest,
    separator="_",
    epilog="""\b
Examples:
  assay perfzero-setup --tensorflow_pip_spec=tensorflow==2.21.0 --docker_tag=perfzero/tf
  assay perfzero-setup --dockerfile_path=gs://my-bucket/image.tar.gz
  assay perfzero-setup --tensorflow_pip_spec=tf-nightly --dry-run""",
)
def command(
    more: Annotated[tuple[str, ...], Argument("[NAME=VALUE…]")],
    keywords: Keywords,
    *,
    engine: Annotated[str, Flag("assay's own flag.", "docker|podman|buildah")] = "",
    dry_run: Annotated[
        bool, Flag("Print what would be done (assay's own flag).", flags="--dry-run")
    ] = False,
) -> int:
    """Build or load the image that PerfZero's benchmarks run in; make a drive of local disks.

    NAME=VALUE… are further values after --extra_docker_build_args.
    """
    request = SetupRequest(**keywords)
    if more and not request.extra_docker_build_args:
        raise UsageError(
            f"'{more[0]}' stands alone.", hint="--extra_docker_build_args NAME=VALUE NAME=VALUE"
        )
    request = msgspec.structs.replace(
        request, extra_docker_build_args=(*request.extra_docker_build_args, *more)
    )
    say = printing.put if dry_run else options.print_message
    seconds = set_up(request, engine, dry_run, say)
    options.print_message("Setup time in seconds by operation:")
    printing.put_document(seconds)
    return 0
