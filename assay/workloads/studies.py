"""Studies: matrices of cases that show the effect of each option, by name."""

from __future__ import annotations

from assay.core.contracts import Study, Variant
from assay.core.errors import unknown_name_error

STUDIES = {
    # the matrix of the study of 2017, on current backends
    "vgg16": Study(
        summary="layout × compiler × batch norm of VGG16, on Keras and the bare frameworks",
        workload="vgg16",
        sizes={
            "full": {},
            "small": {"batch_size": 4, "image_size": 32, "narrower": 16},
        },
        rows=("data_format", ("channels_last", "channels_first")),
        columns=("compiler", ("off", "on")),
        variants=(
            Variant(title="no batch norm"),
            Variant(title="batch norm, mode 0", params={"bn": "mode0"}, extra="bn"),
            Variant(title="batch norm, mode 2", params={"bn": "mode2"}, extra="bn"),
            Variant(
                title="fused batch norm, mode 0",
                params={"bn": "mode0", "fused": True},
                extra="bn",
            ),
            Variant(
                title="fused batch norm, mode 2",
                params={"bn": "mode2", "fused": True},
                extra="bn",
            ),
        ),
    ),
}


def study(name: str) -> Study:
    if name not in STUDIES:
        raise unknown_name_error("study", name, STUDIES)
    return STUDIES[name]
