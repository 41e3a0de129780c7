"""Peak rates that makers publish, dense, without sparsity: to be held against what is measured.

From the data sheets of NVIDIA: T4 (2019), V100 (2020), A100 (2021), L4, L40S, H100 and H200 (2023
to 2024). FLOP/s and B/s; float64 is the tensor cores' where the chip has them.
"""

from __future__ import annotations

_HOPPER = {
    "float64": 67e12,
    "float32": 67e12,
    "tf32": 494.7e12,
    "bfloat16": 989.4e12,
    "float16": 989.4e12,
    "int8": 1979e12,
}

# The first name that is part of a GPU's name counts.
_GPUS: dict[str, dict[str, float]] = {
    "H200": {**_HOPPER, "copy": 4.8e12},
    "H100 80GB HBM3": {**_HOPPER, "copy": 3.35e12},
    "A100": {
        "float64": 19.5e12,
        "float32": 19.5e12,
        "tf32": 156e12,
        "bfloat16": 312e12,
        "float16": 312e12,
        "int8": 624e12,
        "copy": 2.039e12,
    },
    "L40S": {"float32": 91.6e12, "tf32": 183e12, "bfloat16": 362e12, "copy": 0.864e12},
    "L4": {"float32": 30.3e12, "tf32": 60e12, "bfloat16": 121e12, "copy": 0.3e12},
    "V100": {"float64": 7.8e12, "float32": 15.7e12, "float16": 125e12, "copy": 0.9e12},
    "T4": {"float32": 8.1e12, "float16": 65e12, "int8": 130e12, "copy": 0.32e12},
}


def published_peak(name: str, what: str) -> float | None:
    """None where the maker's number is not known here; processors' are not."""
    for part, rates in _GPUS.items():
        if part in name:
            return rates.get(what)
    return None
