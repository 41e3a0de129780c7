"""Do contenders do the same work? Their outputs; the rest is in fairness."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from assay.protocol import Given
from assay.records import Case

# Largest difference of an output, as a share of the largest output: the coarsest precision decides.
TOLERANCES = {"float32": 1e-3, "tf32": 2e-2, "float16": 2e-2}
COARSE = 1e-1  # bfloat16, mixed or pure


def tolerance(*cases: Case) -> float:
    """What outputs of these cases may differ by."""
    asked = [str(case.options.get("precision", "float32")) for case in cases]
    return max(TOLERANCES.get(precision, COARSE) for precision in asked)


def outputs_differ(one: Given, other: Given, allowed: float) -> str:
    """How far two outputs are apart, in words, where that is too far; else ""."""
    if one.shape != other.shape:
        return f"the outputs have the shapes {one.shape} and {other.shape}"
    first, second = np.asarray(one.values), np.asarray(other.values)
    if not np.isfinite(first).all() or not np.isfinite(second).all():
        return "an output is not finite"
    scale = max(float(np.abs(first).max(initial=0.0)), float(np.abs(second).max(initial=0.0)))
    distance = float(np.abs(first - second).max(initial=0.0)) / (scale or 1.0)
    if distance <= allowed:
        return ""
    return f"outputs differ by {distance:.2g} of the largest, more than the {allowed:g} allowed"


def odd_ones_out(outputs: Mapping[str, Given], cases: Mapping[str, Case]) -> dict[str, str]:
    """Whose outputs differ from those of the others with the same parameters, and how.

    Of three or more the middle of each output is taken to be right; of two, the first.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for name in outputs:
        groups[f"{outputs[name].shape} {sorted(cases[name].params.items())}"].append(name)
    return {
        name: wrong
        for names in groups.values()
        for name in names
        if (wrong := _odd(name, names, outputs, cases))
    }


def _odd(
    name: str, names: list[str], outputs: Mapping[str, Given], cases: Mapping[str, Case]
) -> str:
    if len(names) > 2:
        middle = np.median([outputs[other].values for other in names], axis=0)
        reference = Given(shape=outputs[name].shape, values=tuple(middle.tolist()))
    else:
        reference = outputs[names[0]]
    return outputs_differ(reference, outputs[name], tolerance(cases[name]))
