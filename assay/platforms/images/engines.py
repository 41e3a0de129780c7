"""docker, podman or buildah, by lists of words: never by a shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from assay.core.errors import AssayError, NotPossibleError, UsageError, unknown
from assay.core.redaction import safe_text

ENGINES = ("docker", "podman", "buildah")
LABEL = "org.assay.image"
_TAG = re.compile(r"[a-z0-9][\w./:@-]{0,255}", re.ASCII)


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """A folder of this machine, where a container sees it."""

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
    """The engine of that name, or the first that is installed."""
    if name and name not in ENGINES:
        raise unknown("container engine", name, ENGINES)
    for engine in (name,) if name else ENGINES:
        if shutil.which(engine):
            return engine
    raise NotPossibleError(
        f"{name or 'No container engine'} is {'not ' if name else ''}installed here.",
        hint="Install podman or docker; buildah builds too.",
    )


def check_tag(tag: str) -> str:
    if not _TAG.fullmatch(tag):
        raise UsageError(f"'{tag[:80]}' is no name of an image.", hint="As in: assay/torch:2.13")
    return tag


def parse_mount(text: str) -> Mount:
    """`SOURCE:TARGET[:ro]`, the source made absolute; it has to be there."""
    source, _, rest = text.partition(":")
    target, _, mode = rest.partition(":")
    place = Path(source).expanduser().absolute()
    if not target.startswith("/") or mode not in ("", "ro", "rw") or "," in text:
        raise UsageError(f"'{text[:80]}' is no mount.", hint="As in: ./data:/data:ro")
    if not place.exists():
        raise UsageError(f"{place} is not there to be mounted.", hint="See its path.")
    return Mount(source=str(place), target=target, writable=mode != "ro")


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
    """Of docker and podman; buildah needs a working container first (`run_in`)."""
    words = [engine, "run", "--rm", *_mounts(run)]
    for name, value in run.variables.items():
        words += ["-e", f"{name}={value}"]
    if run.gpus:
        words += ["--gpus", "all"] if engine == "docker" else ["--device", "nvidia.com/gpu=all"]
    return [*words, run.image, *run.command]


def run_in(engine: str, run: ContainerRun) -> int:
    """Carry it out, with this terminal; its exit status."""
    if engine != "buildah":
        return _call(run_words(engine, run))
    if run.gpus:
        raise NotPossibleError("buildah gives no GPU to a container.", hint="Install podman.")
    working = ask([engine, "from", run.image])
    words = [engine, "run", "--isolation", "chroot", *_mounts(run)]
    for name, value in run.variables.items():
        words += ["--env", f"{name}={value}"]
    try:
        return _call([*words, working, "--", *run.command])
    finally:
        ask([engine, "rm", working])


def digest(engine: str, image: str) -> str:
    """What the image is, whatever its name: sha256:…"""
    if engine == "buildah":
        found = ask([engine, "inspect", "--type", "image", "--format", "{{.FromImageID}}", image])
    else:
        found = ask([engine, "image", "inspect", "--format", "{{.Id}}", image])
    return found if found.startswith("sha256:") else f"sha256:{found}"


def listed(engine: str) -> list[tuple[str, str, str]]:
    """Images that assay has built: name, id, when."""
    name = "{{.Name}}" if engine == "buildah" else "{{.Repository}}"
    form = f"{name}:{{{{.Tag}}}}|{{{{.ID}}}}|{{{{.CreatedAt}}}}"  # buildah sets tabs by itself
    words = [engine, "images", "--filter", f"label={LABEL}=1", "--format", form]
    rows = [line.split("|") for line in ask(words).splitlines() if line.strip()]
    return [(row[0], row[1], row[2]) for row in rows if len(row) == 3]


def load(engine: str, archive: Path) -> None:
    """An image from an archive that `docker save` wrote."""
    words = [engine, "pull", f"docker-archive:{archive}"]
    ask(words if engine == "buildah" else [engine, "load", "-i", str(archive)])


def ask(words: Sequence[str]) -> str:
    """What an engine says; raises AssayError with its last line where it fails."""
    done = subprocess.run(
        words, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise _failed(words, done.stderr.strip().splitlines())
    return done.stdout.strip()


def follow(words: Sequence[str], progress: Callable[[str], None]) -> None:
    """The same for what takes long: each line as it is said."""
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
        raise _failed(words, list(last))


def _failed(words: Sequence[str], lines: Sequence[str]) -> AssayError:
    said = lines[-1] if lines else "it said nothing"
    return AssayError(
        f"{words[0]} {words[1]} failed: {safe_text(said)[:300]}",
        hint=f"To see it: {safe_text(' '.join(words))[:300]}",
    )


def _call(words: Sequence[str]) -> int:
    return subprocess.run(words, env=os.environ).returncode


def _mounts(run: ContainerRun) -> list[str]:
    return [word for mount in run.mounts for word in ("-v", mount.text)]
