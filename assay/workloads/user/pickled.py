"""A model that was an object of a Python session, from the file that it travelled in: `NAME.live`.

A line of JSON says what it is; behind it lie the model, its example, its loss and its targets, as
pickle. Only a worker reads that part: to load it is to run code, as it is of a Python file.
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
from assay.core.loading import loading
from assay.core.records import Value
from assay.core.sessions import Builder, Job
from assay.workloads.user.model_file import version_of

SUFFIX = ".live"
BATCH_SIZE = 32  # of an example that is a function of it
_LONGEST = 1 << 20  # bytes of the line


class LiveHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a model without loading it."""

    name: str  # of its class or function
    kind: str  # whose model it is
    batch_size: int  # 0: as the example has it
    paths: tuple[str, ...] = ()  # folders in which its classes were found
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

        held = _loaded(self.path, self.header)
        made = held.pop("model")
        # what a file would name beside the model
        beside = SimpleNamespace(__name__=self.header.name, __assay_live__=True, **held)
        return model.job(model.Bare(made, beside, beside, self.header.kind, params))


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
        raise _damaged(path) from None
    return LiveModel(path=path.resolve(), header=header)


def _loaded(path: Path, header: LiveHeader) -> dict[str, Any]:
    """In a worker. Classes of files are looked for where they were, behind everything else."""
    sys.path += [place for place in header.paths if place not in sys.path]
    with path.open("rb") as file:
        file.readline(_LONGEST)
        held = BytesIO(file.read())
    with loading(str(path)), phases.during("import"):
        found: Any = _unpickled(path, held, header.kind)
    if not isinstance(found, dict) or "model" not in found:
        raise _damaged(path)
    return found


def _unpickled(path: Path, held: BytesIO, kind: str) -> Any:
    import pickle
    import zipfile

    try:
        return _READERS.get(kind, pickle.load)(held)
    except (pickle.UnpicklingError, EOFError, zipfile.BadZipFile):
        raise _damaged(path) from None
    except RuntimeError as error:
        if "PytorchStreamReader" in str(error):  # torch's word for an archive that is not whole
            raise _damaged(path) from None
        raise


def _by_torch(held: BytesIO) -> Any:
    """On the CPU, wherever it was: the backend moves it."""
    import torch

    return torch.load(held, map_location="cpu", weights_only=False)


_READERS = {"torch": _by_torch}


def _damaged(path: Path) -> UsageError:
    return UsageError(
        f"{path} is no model that assay has written, or is damaged.",
        hint="Give the model again: assay.run(model=…, example=…).",
    )
