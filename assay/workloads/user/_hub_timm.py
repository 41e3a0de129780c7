"""Models of timm by name."""

from __future__ import annotations

from collections.abc import Mapping

import timm

from assay.core.errors import unknown
from assay.core.records import Value
from assay.core.sessions import Job
from assay.workloads.user import _hub_pictures


def job(name: str, params: Mapping[str, Value]) -> Job:
    if not timm.is_model(name):
        raise unknown("model in timm", name, timm.list_models())
    model = timm.create_model(name, pretrained=False, num_classes=int(params["classes"]))
    side = int(params["image_size"]) or int(model.pretrained_cfg["input_size"][-1])
    return _hub_pictures.job(model, side, params)
