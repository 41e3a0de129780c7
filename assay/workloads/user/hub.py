"""A model of a hub as a workload: `hf:gpt2`, `hf:./folder/`, `torchvision:resnet50`, `timm:NAME`.

Only a worker asks the hub's package for the model. Nothing is downloaded.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from importlib import import_module, metadata
from typing import Any, NamedTuple

import msgspec

from assay.core.errors import EndingError
from assay.core.records import Value
from assay.core.sessions import Builder, Job


class Hub(NamedTuple):
    """A package with models; `hub_NAME.py` loads them."""

    package: str
    install: str
    params: Mapping[str, Value]


_PICTURES: Mapping[str, Value] = {"batch_size": 8, "image_size": 0, "classes": 1000, "seed": 0}
HUBS = {
    "hf": Hub(
        "transformers", "pip install 'assay-lab[hf]'", {"batch_size": 8, "length": 128, "seed": 0}
    ),
    "torchvision": Hub("torchvision", "pip install 'assay-lab[torchvision]'", _PICTURES),
    "timm": Hub("timm", "pip install 'assay-lab[timm]'", _PICTURES),
}


class HubWorkload(msgspec.Struct, frozen=True):
    """A model of a hub."""

    hub: str
    name: str
    version: str = "1"

    @property
    def summary(self) -> str:
        return f"{self.name}, by {HUBS[self.hub].package}"

    @property
    def source(self) -> str:
        return HUBS[self.hub].package

    @property
    def params(self) -> Mapping[str, Value]:
        return HUBS[self.hub].params

    @property
    def kinds(self) -> Mapping[str, Builder]:
        return {"torch": self._build}

    def refuses(self, kind: str, params: Mapping[str, Value]) -> str:
        hub = HUBS[self.hub]
        if importlib.util.find_spec(hub.package) is None:
            return f"{hub.package} is not installed here: {hub.install}"
        return ""

    def _build(self, **params: Value) -> Job:
        job: Job = self._load_package().job(self.name, params)
        return job

    def _load_package(self) -> Any:
        try:
            load_torchvision()  # all of them import it
            return import_module(f"assay.workloads.user.hub_{self.hub}")
        # a package built for another torch: "undefined symbol …"
        except (ImportError, RuntimeError, OSError) as error:
            package = HUBS[self.hub].package
            first = str(error).strip().partition("\n")[0]
            raise EndingError(
                "skipped",
                f"{package} cannot be loaded beside torch {metadata.version('torch')} ({first}); "
                f"install the builds of {package} and torchvision that fit this torch",
            ) from error


def from_hub(text: str) -> HubWorkload:
    hub, _, name = text.partition(":")
    return HubWorkload(hub, name)


# torchvision with a torch that does not match its compiled operators.
#
# The build on the package index needs the CUDA build of torch; with another, `import torchvision`
# fails ("operator torchvision::nms does not exist"), and so do timm and models of transformers. No
# classifier uses these operators, so it is enough to declare their names.

_MISSING = "operator torchvision::nms does not exist"
_declared: list[Any] = []  # declarations live as long as their library


def load_torchvision() -> None:
    """Import torchvision, if it is installed."""
    if importlib.util.find_spec("torchvision") is None:
        return
    try:
        import_module("torchvision")
    except RuntimeError as error:
        if _MISSING not in str(error):
            raise
        _declare()
        import_module("torchvision")


def _declare() -> None:
    """Declare the two operators that torchvision registers without checking that they exist."""
    if not _declared:
        import torch

        library = torch.library.Library("torchvision", "DEF")
        _declared.append(library)
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
