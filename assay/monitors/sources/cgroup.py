"""Files of this process's control group, version 1 and 2."""

from __future__ import annotations

from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


def file(controller: str, name: str, root: Path = ROOT, own: Path | None = None) -> Path | None:
    """The file in this process's group or, as in containers, at the root."""
    for folder in _places(controller, root, own or Path("/proc/self/cgroup")):
        if (folder / name).is_file():
            return folder / name
    return None


def _places(controller: str, root: Path, own: Path) -> list[Path]:
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    folders = []
    for line in lines:
        _, names, path = line.split(":", 2)
        if not names:
            bases = [root, root / "unified"]
        elif controller in names.split(","):
            bases = [root / controller, root / names]
        else:
            continue
        folders += [folder for base in bases for folder in (base / path.lstrip("/"), base)]
    return folders
