"""Names and ids of knobs in configuration files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assay.native.knobs.table import KNOBS, OURS

# Name → its ids in HPVM's global_knobs.txt; None: any.
KINDS: dict[str, range | None] = {
    "fp32": None,
    "fp16": None,
    "perf": range(121, 139),
    "perf_fp16": range(151, 169),
    "samp": range(231, 240),
    "samp_fp16": range(261, 270),
    "red_samp": range(41, 47),
    "swing_level": range(1, 8),
    # ours (assay/native/knobs/table.py)
    "int8": range(13, 14),
    "weight_int8": range(14, 15),
    "low_rank": range(51, 54),
    "perf_int8": range(321, 339),
    "samp_int8": range(431, 440),
    "samp_correct": range(531, 540),
    "samp_correct_fp16": range(561, 570),
}
SIMULATED = frozenset({"red_samp", "swing_level"})  # without speed-up
_EVERY = {range(2): 2, range(2, 5): 3, range(5, 9): 4}  # offset of a knob → 1 of n


def kind_with_id(kind: str, knob: int) -> str:
    """Error message for an invalid pair, or ""."""
    ids = KINDS[kind]
    if ids is None or knob in ids:
        return ""
    return f"{kind} has the numbers {ids.start} to {ids.stop - 1}, not {knob}"


def describe_knob(kind: str, knob: int) -> str:
    """Short description of a knob."""
    if knob in KNOBS and KINDS[kind] and min(KINDS[kind] or ()) in OURS:
        return KNOBS[knob].summary
    half = ", in half precision" if kind.endswith("_fp16") else ""
    if kind.startswith("perf"):
        return f"{_perforation(knob - (151 if half else 121))} skipped, then interpolated{half}"
    if kind.startswith("samp"):
        every, start = _split_offset(knob - (261 if half else 231))
        return f"1 of {every} weights left out, from {start} on{half}"
    if kind == "red_samp":
        share = (50, 50, 40, 40, 25, 25)[knob - 41]
        return f"{share} % of what is reduced left out" + (", in half precision" * (knob % 2 == 0))
    return {"fp32": "full precision", "fp16": "half precision"}.get(
        kind, f"the analog accelerator at voltage swing {knob}"
    )


def simulated_kinds(kinds: Iterable[str]) -> tuple[str, ...]:
    """The simulated ones of these knobs, without duplicates."""
    return tuple(dict.fromkeys(kind for kind in kinds if kind in SIMULATED))


def _perforation(offset: int) -> str:
    """Columns come before rows, for 1 of 2, then 3, then 4."""
    for count, start in ((2, 0), (3, 4), (4, 10)):
        if offset < start + 2 * count:
            axis = "columns" if offset - start < count else "rows"
            return f"1 of {count} {axis}, from {(offset - start) % count} on,"
    raise AssertionError(offset)


def _split_offset(offset: int) -> tuple[int, int]:
    for offsets, every in _EVERY.items():
        if offset in offsets:
            return every, offset - offsets.start
    raise AssertionError(offset)


def tuner_knobs() -> dict[str, dict[str, Any]]:
    """Id → the speed-up that HPVM's tuner assumes, and its devices."""
    gains = [2.0] * 4 + [1.5] * 6 + [1.33] * 8
    samples = [2.0] * 2 + [1.5] * 3 + [1.33] * 4
    knobs: dict[str, dict[str, Any]] = {
        "11": {"speedup": 1.0, "devices": ["cpu"], "baseline_priority": 1},
        "12": {"speedup": 1.5, "devices": ["gpu"], "baseline_priority": 0},
    }
    for first, speedups in ((121, gains), (231, samples)):
        for half in (0, 30):
            for offset, gain in enumerate(speedups):
                knobs[str(first + half + offset)] = {
                    "speedup": {2.0: 3.0, 1.5: 2.25, 1.33: 2.0}[gain] if half else gain,
                    "devices": ["gpu" if half else "cpu"],
                }
    return knobs
