"""Run docker, podman or buildah, without a shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from assay.core.errors import AssayError, NotPossibleError, UsageError, unknown_name_error
from assay.core.redaction import safe_text

ENGINES = ("docker", "podman", "buildah")
LABEL = "org.assay.image"
_TAG = re.compile(r"[a-z0-9][\w./:@-]{0,255}", re.ASCII)


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """A local folder mounted in a container."""

    source: str
    target: str
    writable: bool = True

    @property
    def text(self) -> str:
        return f"{self.source}:{self.target}:{'rw' if self.writable else 'ro'}"


class ContainerRun(msgspec.Struct, frozen=True, kw_only=True):
    """A command in an image."""

    image: str
    command: tuple[str, ...]
    mounts: tuple[Mount, ...] = ()
    variables: Mapping[str, str] = {}
    gpus: bool = False


def find(name: str = "") -> str:
    """The engine of that name, or the first that is installed; docker only if its daemon answers,
    where another one is installed."""
    if name and name not in ENGINES:
        raise unknown_name_error("container engine", name, ENGINES)
    installed = [engine for engine in ((name,) if name else ENGINES) if shutil.which(engine)]
    if len(installed) > 1 and installed[0] == "docker" and not _has_daemon():
        return installed[1]
    if installed:
        return installed[0]
    raise NotPossibleError(
        f"{name or 'No container engine'} is {'not ' if name else ''}installed here.",
        hint="Install podman or docker; buildah builds too.",
    )


def _has_daemon() -> bool:
    words = ["docker", "version", "--format", "{{.Server.Version}}"]
    return subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL).returncode == 0


def check_tag(tag: str) -> str:
    if not _TAG.fullmatch(tag):
        raise UsageError(f"'{tag[:80]}' is not a name of an image.", hint="As in: assay/torch:2.13")
    return tag


def parse_mount(text: str) -> Mount:
    """Parse `SOURCE:TARGET[:ro]`; the source has to exist."""
    source, _, rest = text.partition(":")
    target, _, mode = rest.partition(":")
    path = Path(source).expanduser().absolute()
    if not target.startswith("/") or mode not in ("", "ro", "rw") or "," in text:
        raise UsageError(f"'{text[:80]}' is not a mount.", hint="As in: ./data:/data:ro")
    if not path.exists():
        raise UsageError(f"{path} does not exist.", hint="Check the path of the mount.")
    return Mount(source=str(path), target=target, writable=mode != "ro")


def build_words(
    engine: str, tag: str, folder: Path, arguments: Sequence[str] = (), file: str = "Containerfile"
) -> list[str]:
    words = [engine, "build", "-f", str(folder / file), "-t", tag, "--label", f"{LABEL}=1"]
    if engine == "buildah":
        words[2:2] = ["--isolation", "chroot"]
    for argument in arguments:
        words += ["--build-arg", argument]
    return [*words, str(folder)]


def run_words(engine: str, run: ContainerRun) -> list[str]:
    """Command of docker and podman; buildah needs a working container first (`run_in`)."""
    words = [engine, "run", "--rm", *_user_words(engine), *_mounts(run)]
    for name, value in run.variables.items():
        words += ["-e", f"{name}={value}"]
    if run.gpus:
        words += ["--gpus", "all"] if engine == "docker" else ["--device", "nvidia.com/gpu=all"]
    return [*words, run.image, *run.command]


def run_in(engine: str, run: ContainerRun) -> int:
    """Run a container in this terminal; returns its exit status."""
    if engine != "buildah":
        return _call(run_words(engine, run))
    if run.gpus:
        raise NotPossibleError("buildah does not support GPUs.", hint="Install podman.")
    working = ask([engine, "from", run.image])
    words = [engine, "run", "--isolation", "chroot", *_user_words(engine), *_mounts(run)]
    for name, value in run.variables.items():
        words += ["--env", f"{name}={value}"]
    try:
        return _call([*words, working, "--", *run.command])
    finally:
        ask([engine, "rm", working])


def pin(engine: str, image: str) -> str:
    """The image with the digest that its registry gives; unchanged if there is none."""
    if "@" in image or image.startswith("localhost/"):
        return image
    template = "{{.FromImageDigest}}" if engine == "buildah" else "{{index .RepoDigests 0}}"
    inspect = ["inspect", "--type", "image"] if engine == "buildah" else ["image", "inspect"]
    try:
        ask([engine, "pull", image])
        text = ask([engine, *inspect, "--format", template, image])
    except AssayError:
        return image
    match = re.search(r"sha256:[0-9a-f]{64}$", text)
    return f"{image}@{match[0]}" if match else image


def digest(engine: str, image: str) -> str:
    """Digest of an image: sha256:…"""
    if engine == "buildah":
        image_id = ask(
            [engine, "inspect", "--type", "image", "--format", "{{.FromImageID}}", image]
        )
    else:
        image_id = ask([engine, "image", "inspect", "--format", "{{.Id}}", image])
    return image_id if image_id.startswith("sha256:") else f"sha256:{image_id}"


def list_images(engine: str) -> list[tuple[str, str, str]]:
    """Images built by assay: name, id, time."""
    name = "{{.Name}}" if engine == "buildah" else "{{.Repository}}"
    template = f"{name}:{{{{.Tag}}}}|{{{{.ID}}}}|{{{{.CreatedAt}}}}"  # buildah adds tabs
    words = [engine, "images", "--filter", f"label={LABEL}=1", "--format", template]
    rows = [line.split("|") for line in ask(words).splitlines() if line.strip()]
    return [(row[0], row[1], row[2]) for row in rows if len(row) == 3]


def load(engine: str, archive: Path) -> None:
    """An image from an archive that `docker save` wrote."""
    words = [engine, "pull", f"docker-archive:{archive}"]
    ask(words if engine == "buildah" else [engine, "load", "-i", str(archive)])


def ask(words: Sequence[str], hint: str = "") -> str:
    """Output of an engine; AssayError with its last line if it fails. `hint` is for words with a
    folder that is removed."""
    process = subprocess.run(
        words, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
    )
    if process.returncode:
        raise _engine_error(words, process.stderr.strip().splitlines(), hint)
    return process.stdout.strip()


def follow(words: Sequence[str], progress: Callable[[str], None], hint: str = "") -> None:
    """Run a long command; `progress` gets each line."""
    last: deque[str] = deque(maxlen=1)
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        for line in process.stdout or ():
            if line.strip():
                last.append(line.strip())
                progress(line.rstrip())
    if process.returncode:
        raise _engine_error(words, list(last), hint)


def _engine_error(words: Sequence[str], lines: Sequence[str], hint: str) -> AssayError:
    last_line = lines[-1] if lines else "it said nothing"
    return AssayError(
        f"{words[0]} {words[1]} failed: {safe_text(last_line)[:300]}",
        hint=hint or f"To see it: {safe_text(' '.join(words))[:300]}",
    )


def _call(words: Sequence[str]) -> int:
    return subprocess.run(words, env=os.environ).returncode


def _user_words(engine: str) -> list[str]:
    """Run as the calling user, who can then write to the mounted store. Only root's containers run
    as root: no other user could write to its store."""
    who = f"{os.getuid()}:{os.getgid()}"
    if os.getuid() == 0:
        return ["--user", who]
    return ["--userns", "keep-id"] if engine == "podman" else ["--user", who]


def _mounts(run: ContainerRun) -> list[str]:
    return [word for mount in run.mounts for word in ("-v", mount.text)]
