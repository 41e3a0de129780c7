"""Check that a `.pt2` file can be loaded without running code of its author.

torch.export.load unpickles without limits what does not load as weights only, and runs compiled
libraries, custom objects and texts that become Python. All of the file is checked before; anything
not known to be data is refused, so that unknown formats of other versions of torch are refused too.
"""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from assay.core.corrupt import DAMAGED_HINT
from assay.workloads.user._program_text import RefusedError, check_description, check_words

FORCE, FORCE_NOT = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
_LARGEST = 1 << 28  # bytes of a JSON member

# Pattern of a member → its kind. In one folder since torch 2.8; at the top before.
_NEW = {
    r"models/\w+\.json": "description",
    r"data/(weights|constants)/\w+_config\.json": "contents",
    r"data/(sample_inputs|weights|constants)/\w+\.pt": "pickle",
    r"data/weights/weight_\d+|data/constants/tensor_\d+": "numbers",
    r"archive_format|archive_version|version|byteorder|extra/.*": "text",
    r"\.data/\w+|\.format_version|\.storage_alignment": "text",
}
_OLD = {
    r"serialized_exported_program\.json": "description",
    r"serialized_(state_dict|constants|example_inputs)\.(pt|json)": "pickle",
    r"version|extra_files/.*": "text",
}
_PICKLE = re.compile(r"data\.pkl|data/\d+|byteorder|version|\.\w+(/\w+)?", re.ASCII)
_GLOBAL = re.compile(r"(?:GLOBAL|global|class) ([\w.]+)")


@contextmanager
def weights_only() -> Iterator[None]:
    """Force weights_only in every torch.load, whatever its caller or the environment requests."""
    before = {name: os.environ.pop(name, None) for name in (FORCE, FORCE_NOT)}
    os.environ[FORCE] = "1"
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def check_archive(path: str) -> None:
    """Raise RefusedError if the file holds more than data."""
    try:
        with zipfile.ZipFile(path) as archive:
            kinds = _kinds(archive)
            _check_same(path, archive, kinds)
            for name, kind in kinds.items():
                if kind in _CHECKS:
                    _CHECKS[kind](_read(archive, name))
    except DAMAGED_HINT as error:
        raise RefusedError(f"it is no readable archive: {error}") from None


def reason_of(error: Exception) -> str:
    """Why torch did not load it as weights only."""
    named = _GLOBAL.search(str(error))
    what = named[1] if named else "an object"
    return f"it holds {what}, which is more than tensors"


def _kinds(archive: zipfile.ZipFile) -> dict[str, str]:
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if len({name.lower() for name in names}) < len(names):
        raise RefusedError("two of its members have one name")
    roots = {name.partition("/")[0] for name in names}
    old = "serialized_exported_program.json" in names
    if not old and len(roots) != 1:
        raise RefusedError("its members are not in one folder")
    return {
        name: _kind(name if old else name.partition("/")[2], _OLD if old else _NEW)
        for name in names
    }


def _kind(name: str, known: Mapping[str, str]) -> str:
    for pattern, kind in known.items():
        if re.fullmatch(pattern, name, re.ASCII):
            return kind
    if name.startswith("data/aotinductor/"):
        raise RefusedError(f"it holds a compiled library ({name})")
    raise RefusedError(f"it holds {name}, which may be more than data")


def _check_same(path: str, archive: zipfile.ZipFile, kinds: Mapping[str, str]) -> None:
    """torch has its own reader, and a crafted archive can be read in two ways."""
    old = "serialized_exported_program.json" in kinds
    try:
        reader = torch._C.PyTorchFileReader(path)
        records = set(reader.get_all_records())
    except RuntimeError:
        if old:
            return  # torch reads it by zipfile too
        raise RefusedError("torch cannot open it as an archive") from None
    if old:
        if any(name.startswith(("models/", "data/")) for name in records):
            raise RefusedError("it can be read in two ways")
        return
    inner = {name.partition("/")[2]: name for name in kinds}
    if not records <= set(inner):
        raise RefusedError("it can be read in two ways")
    for name in records:
        looked_at = kinds[inner[name]] in _CHECKS
        if looked_at and reader.get_record(name) != _read(archive, inner[name]):
            raise RefusedError("it can be read in two ways")


def _read(archive: zipfile.ZipFile, name: str) -> bytes:
    size = archive.getinfo(name).file_size
    if size > _LARGEST and name.endswith(".json"):
        raise RefusedError(f"{name} is larger than {_LARGEST} bytes")
    return archive.read(name)


def _description(data: bytes) -> None:
    for name in check_description(_document(data)):
        if name.startswith("torch.ops.") and not name.startswith("torch.ops.higher_order."):
            _check_operator(name)


def _check_operator(name: str) -> None:
    """It must be an operator, not another attribute of torch.ops, and must not open files."""
    *_, space, function, overload = name.split(".")
    operator = getattr(getattr(getattr(torch.ops, space), function, None), overload, None)
    if not isinstance(operator, torch._ops.OpOverload):
        raise RefusedError(f"it calls {name}, which is no operator of this torch")
    if any("file" in argument.name for argument in operator._schema.arguments):
        raise RefusedError(f"it calls {name}, which opens files")


def _contents(data: bytes) -> None:
    """Names and paths of the weights."""
    document = _document(data)
    check_words(document)
    for entry in document.get("config", {}).values():
        if entry.get("use_pickle") or not re.fullmatch(
            r"(weight|tensor)_\d+", str(entry.get("path_name")), re.ASCII
        ):
            raise RefusedError(f"it holds an object that is no plain tensor ({entry})")


def _pickle(data: bytes) -> None:
    """It must be in the only format whose pickle torch restricts: older ones still run code in some
    versions (CVE-2025-32434), and a TorchScript archive is a program."""
    if not data:
        return
    in_a_zip = data.startswith(b"PK\3\4")  # as torch.load distinguishes it from older formats
    records = torch._C.PyTorchFileReader(io.BytesIO(data)).get_all_records() if in_a_zip else []
    if "data.pkl" not in records or not all(map(_PICKLE.fullmatch, records)):
        raise RefusedError("its inputs or weights are in a form that can run code")


def _document(data: bytes) -> Any:
    document = json.loads(data.decode("utf-8"))
    if not isinstance(document, dict):
        raise RefusedError("one of its descriptions is no JSON object")
    return document


_CHECKS = {"description": _description, "contents": _contents, "pickle": _pickle}
