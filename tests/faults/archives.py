"""Archives drawn at random, unpacked beside what must not change."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from random import Random

from assay.core.archives import unpack
from assay.core.errors import AssayError
from tests.core.attack_archives import Entry, attacks, snapshot, write
from tests.faults.mutations import mutated
from tests.faults.world import World, in_time

NAMES = ("a", "b", "c", "data", "link", "d" * 60, "n" * 256, "\udcff", "..", ".", "", "x\\y")
ARCHIVES = ("1.tar", "1.tar.gz", "1.zip")
KINDS = (
    *("file",) * 6,
    *("symlink",) * 5,
    *("folder", "folder", "hardlink", "hardlink", "pipe", "device"),
)


def archive_fault(world: World, draw: Random) -> list[str]:
    """Up to three archives into one folder, one after another: none changes what is outside, makes
    a link that leads there, or leaves a part of itself when it is refused."""
    target = world.work / "target"
    (target / "data").mkdir(parents=True)
    (target / "link").symlink_to(draw.choice(["data", "../../victim", str(world.base / "victim")]))
    own = os.readlink(target / "link")
    for _ in range(draw.randrange(1, 4)):
        entries = _entries(world, target, draw)
        archive = write(world.work / draw.choice(ARCHIVES), entries)
        if draw.random() < 0.1:
            archive.write_bytes(mutated(archive.read_bytes(), draw))
        before = snapshot(target)
        try:
            with in_time():
                unpack(archive, target)
        except AssayError as error:
            str(error).encode()  # it can be printed
            if snapshot(target) != before:
                return [f"refused ({error}), but in part unpacked: {entries}"]
        except BaseException:
            return [f"{entries}: {traceback.format_exc()[-3000:]}"]
        if wrong := [*world.changed(), *_leading_out(target, own)]:
            return [f"{wrong} by {entries}"]
    return []


def _entries(world: World, target: Path, draw: Random) -> list[Entry]:
    """Members that build upon one another, or an attack with a few of them changed."""
    if draw.random() < 0.2:
        entries = list(draw.choice(list(attacks(target).values())))
        for _ in range(draw.randrange(4)):
            entries.insert(draw.randrange(len(entries) + 1), draw.choice(entries))
        return entries
    clean = draw.random() < 0.6  # else most are refused at the first member
    names = ("data", *"abcdefghijklmnop") if clean else NAMES
    paths: list[str] = []
    kinds: list[str] = []
    for _ in range(draw.randrange(1, 7)):
        kinds.append(draw.choice(KINDS[:-2] if clean else KINDS))
        path = "/".join(draw.choices(names, k=draw.randrange(1, 4)))
        folders = [p for p, k in zip(paths, kinds, strict=False) if k == "folder" or not clean]
        above = draw.choice(folders) if folders and draw.random() < 0.4 else ""
        paths.append(f"{above}/{path}" if above else path)
    if not clean and draw.random() < 0.1:
        paths[-1] = str(world.base / "victim" / "precious")
    return [
        Entry(kind, path, _target(world, paths, path, kind, draw))
        for kind, path in zip(kinds, paths, strict=True)
    ]


def _target(world: World, paths: list[str], path: str, kind: str, draw: Random) -> str:
    """Of a link; or what is in a file."""
    other = draw.choice(paths[:1] * 3 + paths)
    up = "../" * (path.count("/") + draw.choice([0] * 12 + [1, 2]))
    if kind == "symlink":
        outside = str(world.base / "victim")
        ends = [other, f"{up}{other}", f"{up}{other}", f"{other}/..", up or ".", outside]
        return draw.choice([*ends, *[ends[1]] * 12])
    return other if kind == "hardlink" else "evil"


def _leading_out(target: Path, own: str) -> list[str]:
    """Links that an archive made and that end outside; the one that was there may."""
    wrong = []
    for place, folders, names in os.walk(target):
        for path in (Path(place) / name for name in (*folders, *names)):
            mine = path == target / "link" and os.readlink(path) == own if path.is_symlink() else 0
            if path.is_symlink() and not mine:
                end = Path(os.path.realpath(path))
                if not end.is_relative_to(os.path.realpath(target)):
                    wrong.append(f"{path} leads to {end}")
        wrong += [f"{name} is left" for name in folders if name.startswith(".unpacking-")]
    return wrong
