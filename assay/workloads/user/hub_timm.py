"""Models of timm by name."""

from __future__ import annotations

from collections.abc import Mapping

import timm

from assay.core.errors import unknown_name_error
from assay.core.records import Value
from assay.core.sessions import Job
from assay.workloads.user import hub_images

LISTED = "timm.list_models() has all names."


def job(name: str, params: Mapping[str, Value]) -> Job:
    if not timm.is_model(name):
        raise unknown_name_error("model in timm", name, timm.list_models(), LISTED)
    known = timm.get_pretrained_cfg(name)
    side = int(params["image_size"]) or int(known.input_size[-1])
    # models with a position for every patch are built for one size; others take any
    size = {"img_size": side} if known.fixed_input_size else {}
    model = timm.create_model(name, pretrained=False, num_classes=int(params["classes"]), **size)
    return hub_images.job(model, side, params)
