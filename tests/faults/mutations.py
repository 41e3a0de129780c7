"""What may become of a file: cut, flipped, nested, replaced by something that is no file."""

from __future__ import annotations

import json
import os
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

from tests.faults.world import ESCAPE

VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**63, 2**70, 10**22, -1e308, 1e-320, "", "nan", "inf", "-inf"),
    *(ESCAPE, "\u202eabc", "x" * 5000, "../../victim/precious", "/victim", "a\0b", "-" * 1000),
    *([], {}, [[]], [None] * 3, {"a": {"b": []}}, ["\x9b2J"], "\ud800", "9" * 5000, "1/2", "001"),
)
TEXTS = (
    b"",
    b"[" * 200_000,
    b'{"a":' * 100_000,
    b"\0" * 100,
    b"null",
    b"{}",
    b"[1,2]",
    b"9" * 6000,
)


def mutated(data: bytes, draw: Random) -> bytes:
    """Bytes as they are not meant to be; JSON stays JSON half of the time."""
    if draw.random() < 0.5 and (found := _mutated_json(data, draw)) is not None:
        return found
    choice = draw.randrange(6)
    at = draw.randrange(len(data) + 1)
    if choice == 0:
        return data[:at]
    if choice == 1:
        return draw.choice(TEXTS)
    if choice == 2:
        return data[:at] + draw.randbytes(draw.randrange(1, 40)) + data[at:]
    if choice == 3:
        return data[:at] + draw.choice(TEXTS)[:5000] + data[at:]
    if choice == 4:
        return data[:at] + data[min(len(data), at + draw.randrange(1, 100)) :]
    changed = bytearray(data)
    for _ in range(min(len(changed), draw.randrange(1, 20))):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def replaced(path: Path, draw: Random) -> None:
    """What lies at a path becomes other bytes, a pipe, a link, a folder or nothing."""
    data = path.read_bytes()
    choice = draw.randrange(12)
    if choice >= 6:
        path.write_bytes(mutated(data, draw))
        return
    path.unlink()
    if choice == 0:
        os.mkfifo(path)
    elif choice == 1:
        path.symlink_to(draw.choice(["/etc/passwd", "/dev/zero", path.name, "..", "/nowhere"]))
    elif choice == 2:
        path.mkdir()
    elif choice == 3:
        path.write_bytes(data)
        path.chmod(0)


def _mutated_json(data: bytes, draw: Random) -> bytes | None:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    for _ in range(draw.randrange(1, 4)):
        places = list(_places(document))
        if not places:
            break
        holder, name = draw.choice(places)
        if draw.random() < 0.15 and isinstance(holder, dict):
            del holder[name]
        elif draw.random() < 0.1 and isinstance(holder, dict):
            holder[draw.choice([ESCAPE, "", "x" * 3000, "a\nb"])] = deepcopy(draw.choice(VALUES))
        else:
            holder[name] = deepcopy(draw.choice(VALUES))
    return json.dumps(document).encode()


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a document that holds something."""
    names = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    found = [(value, name) for name in names]
    for _, name in list(found):
        found += _places(value[name])
    return found
