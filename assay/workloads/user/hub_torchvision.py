"""Models of torchvision by name."""

from __future__ import annotations

from collections.abc import Mapping

from torchvision import models

from assay.core.errors import unknown_name_error
from assay.core.records import Value
from assay.core.sessions import Job
from assay.workloads.user import hub_images

LISTED = "torchvision.models.list_models(torchvision.models) has all names."


def job(name: str, params: Mapping[str, Value]) -> Job:
    known = models.list_models(module=models)  # those that classify
    if name not in known:
        raise unknown_name_error("classifier in torchvision", name, known, LISTED)
    side = int(params["image_size"]) or 224
    size = {"image_size": side} if name.startswith("vit_") else {}  # all others take any
    model = models.get_model(name, weights=None, num_classes=int(params["classes"]), **size)
    return hub_images.job(model, side, params)
