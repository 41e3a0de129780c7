"""A user's own workloads: functions, files, hubs and objects."""

from __future__ import annotations

from assay.core.contracts import Workload
from assay.core.errors import UsageError


def resolve(name: str) -> Workload | None:
    """`./my.py:MyNet`, a model file (also of an object), or a model of a hub."""
    if ".py:" in name:
        from assay.workloads.user.file import from_file

        return from_file(name)
    if name.startswith(("hf:", "torchvision:", "timm:")):
        from assay.workloads.user.hub import from_hub

        return from_hub(name)
    if name.endswith((".onnx", ".pt2", ".keras")):
        from assay.workloads.user.model_file import from_model_file

        return from_model_file(name)
    if name.endswith(".live"):
        from assay.workloads.user.pickled import from_live_file

        return from_live_file(name)
    if name.endswith(".py"):
        raise UsageError(
            f"'{name}' names a file, but not what to run in it.", hint=f"As in: {name}:MyNet"
        )
    if "," in name:
        raise UsageError(
            f"There is no workload named '{name}'.", hint="Separate cases by a space, not a comma."
        )
    return None
