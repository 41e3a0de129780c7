"""Numbers of an ONNX model that lie in a file beside it: which bytes of which file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import msgspec

from assay.core.errors import UsageError
from assay.core.protobuf import DamagedError, fields

EXTERNAL = 1  # of TensorProto.DataLocation
_HINT = "A model and the file of its weights belong into one folder, both whole."


class ExternalData(msgspec.Struct, frozen=True):
    path: Path
    offset: int
    length: int  # bytes


def external_data(model: Path, entries: Iterable[bytes]) -> ExternalData:
    """What a tensor's `external_data` says; UsageError where the bytes are not there."""
    told = dict(_entry(each) for each in entries)
    try:
        location, offset = told["location"], int(told.get("offset", 0))
        length = int(told.get("length", -1))
    except (KeyError, ValueError):
        raise DamagedError("it does not say where its weights lie") from None
    path = _beside(model, location)
    try:
        size = path.stat().st_size
    except OSError:
        raise UsageError(
            f"{model.name} has its weights in the file {location}, which is not beside it.",
            hint=_HINT,
        ) from None
    length = size - offset if length < 0 else length
    if not 0 <= offset <= offset + length <= size:
        raise UsageError(
            f"{model.name} has weights in the bytes {offset} to {offset + length} of {location}, "
            f"which has {size}.",
            hint=_HINT,
        )
    return ExternalData(path, offset, length)


def _entry(data: bytes) -> tuple[str, str]:
    parts = dict(fields(data))
    key, value = (bytes(parts.get(number, b"")).decode() for number in (1, 2))  # type: ignore[arg-type]
    return key, value


def _beside(model: Path, location: str) -> Path:
    """Inside the model's folder, by its name and by where its links lead: a file from somebody else
    is not to have another one read. Of a link to a model (the cache of huggingface_hub is made of
    them), the folder that the model really lies in will do as well."""
    place = PurePosixPath(location)
    path = model.parent / place
    homes = {model.parent.resolve(), model.resolve().parent}
    inside = not place.is_absolute() and ".." not in place.parts
    if not inside or not any(path.resolve().is_relative_to(home) for home in homes):
        raise UsageError(
            f"{model.name} has its weights in {location}, which is outside of the model's folder.",
            hint="Such a file is not read. Save the model anew, with its weights beside it.",
        )
    return path
