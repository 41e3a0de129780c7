"""Roofline: FLOP/s of a case against measured peaks."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

import msgspec

from assay.core.records import Result, Value
from assay.core.units import human
from assay.stats import fast_algorithms
from assay.stats.doubts.machine import other_load

# A training step is three forward passes: one forward, two backward, for the gradients of inputs
# and of weights (Kaplan et al. 2020, section 2.1).
PASSES = {"infer": 1, "train": 3}

BUSY_MARGIN = 10  # the same, if other programs were busy: then no peak can be measured well
MARGIN = 1.25  # of a measured peak: the product that measures it may not be the fastest

_PEAKS = {"pure-bfloat16": "bfloat16"}


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """Position of a case in the roofline model."""

    flops: float  # FLOP/s, two per multiply-add
    peak: float | None = None  # FLOP/s, measured on this device in this precision
    share: float | None = None  # of the peak: MFU
    intensity: float | None = None  # FLOP per byte
    bound: str = ""  # "memory" or "compute", if the bytes are known
    note: str = ""


def position(result: Result) -> Position | None:
    """None if the multiply-adds or step times are not known."""
    counted = multiply_adds(result)
    steps = result.values("step_time")
    if not counted or not steps:
        return None
    work = 2 * counted * max(1, result.items) * _passes(result)
    return roofline_position(
        work=work,
        seconds=median(steps),
        moved=_number(result.facts.get("bytes_accessed")),
        peak=peak(result, str(result.case.options.get("precision", "float32"))),
        bandwidth=peak(result, "copy"),
    )


def multiply_adds(result: Result) -> float | None:
    """Of one item's forward pass: as the workload states, else by the framework's counter, which
    counts a model of the user's own."""
    stated = _number(result.facts.get("multiply_adds"))
    return stated or _number(result.facts.get("counted_multiply_adds"))


def lacks_peak(result: Result) -> bool:
    """Whether its speed could be compared with a peak, but none is stored."""
    where = position(result)
    return result.status == "ok" and where is not None and where.peak is None


def impossible(result: Result, machine: Mapping[str, Value]) -> str:
    """Why no algorithm can have this speed on a `machine` with these peaks, or "".

    Compared with the highest peak that its products can have had, and with the fewest operations
    that a known algorithm executes for them. Parameters that do not train leave out the backward
    pass, so a training counts as three passes only if the workload states its work.
    """
    where = position(result)
    peak = _highest_peak(result, machine)
    if not where or not peak:
        return ""
    stated = _number(result.facts.get("multiply_adds"))
    rate = where.flops if stated else where.flops / _passes(result)
    saving = _saving(result)
    if rate <= peak * saving * (BUSY_MARGIN if other_load(result) else MARGIN):
        return ""
    algorithms = f", and known algorithms save at most {saving:.3g} times" if saving > 1 else ""
    return (
        f"faster than this machine can: {human(rate, 'FLOP/s')}, but its measured peak is "
        f"{human(peak, 'FLOP/s')}{algorithms}; steps are not waited for, or return earlier results"
    )


def floor(result: Result) -> Floor | None:
    """None if the multiply-adds are not known."""
    counted = multiply_adds(result)
    if not counted:
        return None
    passes = _passes(result)
    work = 2 * counted * max(1, result.items) * passes
    rate = peak(result, str(result.case.options.get("precision", "float32")))
    return Floor(
        multiply_adds=counted,
        items=max(1, result.items),
        passes=passes,
        flops=work,
        peak=rate,
        seconds=work / rate if rate else None,
    )


def roofline_position(
    work: float,
    seconds: float,
    moved: float | None = None,
    peak: float | None = None,
    bandwidth: float | None = None,
) -> Position | None:
    """`work` in FLOP and `moved` in bytes, of one step (Williams, Waterman and Patterson 2009)."""
    if not seconds > 0:  # nan too
        return None
    rate = work / seconds
    share = rate / peak if peak else None
    intensity = work / moved if moved else None
    bound = ""
    if intensity and peak and bandwidth:
        bound = "memory" if intensity * bandwidth < peak else "compute"
    return Position(
        flops=rate, peak=peak, share=share, intensity=intensity, bound=bound, note=_note(share)
    )


def _passes(result: Result) -> int:
    """By the mode that ran: text generation infers, whatever the requested mode."""
    mode = result.case.options.get("mode", "train")
    return PASSES.get(str(result.facts.get("mode", mode)), 1)


def _note(share: float | None) -> str:
    if share is None:
        return "no measured peak of this machine is stored: run assay doctor first"
    if share > 1:
        return (
            f"{share:.2f} times the measured peak: fewer operations are executed than counted, "
            "as by Winograd convolution, or the peak was measured on a busy machine"
        )
    return ""


def peak(result: Result, what: str) -> float | None:
    """Measured peak of the case's device, from its environment."""
    name = f"{_device(result)}_peak_{_PEAKS.get(what, what)}"
    return _number(result.environment.machine.get(name))


def _device(result: Result) -> str:
    device = str(result.facts.get("device", result.facts.get("devices", "cpu"))).lower()
    return "gpu0" if any(word in device for word in ("gpu", "cuda", "rocm")) else "cpu"


def _highest_peak(result: Result, machine: Mapping[str, Value]) -> float | None:
    """Of all devices of the case; of products in float32 without those of shorter types."""
    prefix = f"{_device(result)}_peak_"
    single = result.facts.get("product_dtypes") == "float32"
    rates = [
        _number(value) or 0.0
        for name, value in machine.items()
        if name.startswith(prefix)
        and name != f"{prefix}copy"
        and (not single or name.removeprefix(prefix) in ("float32", "tf32"))
    ]
    devices = _number(result.case.options.get("devices")) or 1
    return max(rates, default=0.0) * devices or None


def _saving(result: Result) -> float:
    """Upper bound of counted by executed operations."""
    executed = _number(result.facts.get("executed_multiply_adds"))
    counted = multiply_adds(result)
    return max(1.0, counted / executed) if executed and counted else fast_algorithms.UNKNOWN


def _number(value: Value | None) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and value is not None else None


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """Lower bound of the step time by arithmetic."""

    multiply_adds: float  # of one item's forward pass
    items: int
    passes: int  # forward passes per step
    flops: float  # of one step
    peak: float | None = None  # FLOP/s, measured; None: not known
    seconds: float | None = None
