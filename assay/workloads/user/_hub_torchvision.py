"""Models of torchvision by name."""

from __future__ import annotations

from collections.abc import Mapping

from torchvision import models

from assay.core.errors import unknown
from assay.core.records import Value
from assay.core.sessions import Job
from assay.workloads.user import _hub_pictures


def job(name: str, params: Mapping[str, Value]) -> Job:
    known = models.list_models(module=models)  # those that classify
    if name not in known:
        raise unknown("classifier in torchvision", name, known)
    model = models.get_model(name, weights=None, num_classes=int(params["classes"]))
    return _hub_pictures.job(model, int(params["image_size"]) or 224, params)
