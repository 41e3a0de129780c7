"""Programs of torch.export for tests: honest ones, and such as run code where they are let to."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

INPUTS = "data/sample_inputs/model.pt"
DESCRIPTION = "models/model.json"


def honest(path: Path) -> Path:
    """A linear layer with a free batch, as torch.export.save writes it."""
    import torch

    batch = {"input": {0: torch.export.Dim("batch", min=1, max=64)}}
    program = torch.export.export(torch.nn.Linear(4, 2), (torch.rand(2, 4),), dynamic_shapes=batch)
    torch.export.save(program, path)
    return path


def hostile(path: Path, marker: Path) -> Path:
    """The same, but its inputs append a letter to the marker when they are unpickled freely."""
    whole = honest(path)
    return rewritten(whole, path, {INPUTS: lambda _: _pickled(marker)})


def rewritten(source: Path, path: Path, changes: Mapping[str, Callable[[bytes], bytes]]) -> Path:
    """A copy with some members changed, or added; names are below the archive's one folder."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    root = next(iter(members)).partition("/")[0]
    for name, change in changes.items():
        members[f"{root}/{name}"] = change(members.get(f"{root}/{name}", b""))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def described(change: Callable[[dict[str, Any]], None]) -> dict[str, Callable[[bytes], bytes]]:
    """A change of the description, for `rewritten`."""

    def apply(data: bytes) -> bytes:
        document = json.loads(data)
        change(document)
        return json.dumps(document).encode()

    return {DESCRIPTION: apply}


def replaced(old: str, new: str) -> dict[str, Callable[[bytes], bytes]]:
    """A text of the description, wherever it stands, becomes another; for `rewritten`."""

    def apply(data: bytes) -> bytes:
        text, count = re.subn(re.escape(json.dumps(old)), lambda _: json.dumps(new), data.decode())
        assert count, f"{old} is not in the description"
        return text.encode()

    return {DESCRIPTION: apply}


class _Marked:
    """Unpickled, it appends to a file, and is a tensor that the program takes."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        code = f"(open({str(self._marker)!r}, 'a').write('x'), __import__('torch').ones(2, 4))[1]"
        return eval, (code,)


def _pickled(marker: Path) -> bytes:
    import torch

    held = io.BytesIO()
    torch.save(((_Marked(marker),), {}), held)
    return held.getvalue()
