"""External data of ONNX models: which bytes of which file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import msgspec

from assay.core.errors import UsageError
from assay.core.protobuf import DamagedError, fields

EXTERNAL = 1  # of TensorProto.DataLocation
_HINT = "Keep a model and the complete file of its weights in one folder."


class ExternalData(msgspec.Struct, frozen=True):
    path: Path
    offset: int
    length: int  # bytes


def external_data(model: Path, entries: Iterable[bytes]) -> ExternalData:
    """Parse a tensor's `external_data`; UsageError if the bytes do not exist."""
    location_fields = dict(_entry(entry) for entry in entries)
    try:
        location, offset = location_fields["location"], int(location_fields.get("offset", 0))
        length = int(location_fields.get("length", -1))
    except (KeyError, ValueError):
        raise DamagedError("the location of its weights is missing") from None
    path = _data_dir(model, location)
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


def _data_dir(model: Path, location: str) -> Path:
    """Path inside the model's folder, before and after links are resolved: an untrusted model must
    not read other files. If the model is a link (as in the cache of huggingface_hub), the folder
    of its target is allowed too."""
    relative = PurePosixPath(location)
    path = model.parent / relative
    folders = {model.parent.resolve(), model.resolve().parent}
    inside = not relative.is_absolute() and ".." not in relative.parts
    if not inside or not any(path.resolve().is_relative_to(folder) for folder in folders):
        raise UsageError(
            f"{model.name} has its weights in {location}, which is outside of the model's folder.",
            hint="Save the model again, with its weights in the same folder.",
        )
    return path
