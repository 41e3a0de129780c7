"""Parameters of full-sized models, ours and those of Keras applications, as JSON; for tests."""

from __future__ import annotations

import json
import sys

import keras

from assay.core import registry
from assay.core.case_text import parse_case

OURS = {
    "lstm": "lstm",
    "gru": "gru",
    "resnet50": "resnet50",
    "resnet50 subclassed": "resnet50:style=subclassed",
    "resnet101": "resnet50:blocks=3-4-23-3",
    "xception": "xception",
    "encoder small": "transformer-encoder",
    "encoder base": "transformer-encoder:size=base",
    "decoder small": "transformer-decoder",
    "decoder base": "transformer-decoder:size=base",
    "generation small": "transformer-decoder:task=generate",
    "vit small": "vit",
    "vit base": "vit:size=base",
    "convnext tiny": "convnext:size=tiny",
    "convnext small": "convnext",
    "convnext base": "convnext:size=base",
    "unet small": "unet",
    "unet base": "unet:size=base",
    "dlrm small": "dlrm",
    "dlrm base": "dlrm:size=base",
}
APPLICATIONS = {
    "resnet50": "ResNet50",
    "resnet101": "ResNet101",
    "xception": "Xception",
    "convnext tiny": "ConvNeXtTiny",
    "convnext small": "ConvNeXtSmall",
    "convnext base": "ConvNeXtBase",
}


def ours(text: str) -> int:
    case = parse_case(text)
    workload = registry.workload(case.workload)
    params = {**workload.params, **case.params, "batch_size": 1}
    return workload.kinds["keras"](**params).model.count_params()


def main() -> None:
    applications = {
        name: getattr(keras.applications, application)(weights=None).count_params()
        for name, application in APPLICATIONS.items()
    }
    found = {"ours": {name: ours(text) for name, text in OURS.items()}}
    json.dump(found | {"applications": applications}, sys.stdout)


if __name__ == "__main__":
    main()
