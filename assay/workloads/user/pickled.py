"""A model object of a Python session, from its file `NAME.live`.

The first line is a header in JSON; then follows a pickle of the model, its example, loss and
targets. Only a worker reads that part, because it runs code, as of a Python file.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from assay.core import phases
from assay.core.errors import UsageError
from assay.core.files import user_path
from assay.core.loading import load_user_file
from assay.core.records import Value
from assay.core.sessions import Builder, Job
from assay.workloads.user.model_file import version_of

SUFFIX = ".live"
BATCH_SIZE = 32  # default if the example is a function of it
_LONGEST = 1 << 20  # bytes of the header


class LiveHeader(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of a model without loading it."""

    name: str  # of its class or function
    kind: str  # the framework
    batch_size: int  # 0: that of the example
    paths: tuple[str, ...] = ()  # folders of its classes
    format: int = 1


class LiveModel(msgspec.Struct, frozen=True, kw_only=True):
    """Fulfils the Workload contract."""

    path: Path
    header: LiveHeader

    @property
    def summary(self) -> str:
        return f"{self.header.name}, as it was in a Python session"

    @property
    def source(self) -> str:
        return str(self.path)

    @property
    def version(self) -> str:
        return version_of(self.path)

    @property
    def params(self) -> Mapping[str, Value]:
        return {"batch_size": self.header.batch_size, "seed": 0}

    @property
    def kinds(self) -> Mapping[str, Builder]:
        return {self.header.kind: self._build}

    def _build(self, **params: Value) -> Job:
        from assay.workloads.user import model

        parts = _load(self.path, self.header)
        network = parts.pop("model")
        # like the attributes of a user's file
        beside = SimpleNamespace(__name__=self.header.name, __assay_live__=True, **parts)
        return model.job(model.Bare(network, beside, beside, self.header.kind, params))


def from_live_file(name: str) -> LiveModel:
    path = user_path(name)
    try:
        with path.open("rb") as file:
            header = msgspec.json.decode(file.readline(_LONGEST), type=LiveHeader)
    except OSError as error:
        raise UsageError(
            f"The file {name} cannot be read ({error.strerror}).",
            hint="Give the model again: assay.run(model=…, example=…).",
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise _damage_error(path) from None
    return LiveModel(path=path.resolve(), header=header)


def _load(path: Path, header: LiveHeader) -> dict[str, Any]:
    """In a worker. Folders of its classes are searched last."""
    sys.path += [folder for folder in header.paths if folder not in sys.path]
    with path.open("rb") as file:
        file.readline(_LONGEST)
        data = BytesIO(file.read())
    with load_user_file(str(path)), phases.during("import"):
        parts: Any = _unpickle(path, data, header.kind)
    if not isinstance(parts, dict) or "model" not in parts:
        raise _damage_error(path)
    return parts


def _unpickle(path: Path, data: BytesIO, kind: str) -> Any:
    import pickle
    import zipfile

    try:
        return _READERS.get(kind, pickle.load)(data)
    except (pickle.UnpicklingError, EOFError, zipfile.BadZipFile):
        raise _damage_error(path) from None
    except RuntimeError as error:
        if "PytorchStreamReader" in str(error):  # torch reports a truncated archive
            raise _damage_error(path) from None
        raise


def _torch_load(data: BytesIO) -> Any:
    """To the CPU: the backend moves it."""
    import torch

    return torch.load(data, map_location="cpu", weights_only=False)


_READERS = {"torch": _torch_load}


def _damage_error(path: Path) -> UsageError:
    return UsageError(
        f"{path} was not written by assay, or is damaged.",
        hint="Give the model again: assay.run(model=…, example=…).",
    )
