"""Roofline: FLOP/s of a case against measured peaks."""

from __future__ import annotations

from statistics import median

import msgspec

from assay.core.records import Result, Value

# A training step is three forward passes: one forward, two backward, for the gradients of inputs
# and of weights (Kaplan et al. 2020, section 2.1).
PASSES = {"infer": 1, "train": 3}

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
    multiply_adds = _number(result.facts.get("multiply_adds"))
    steps = result.values("step_time")
    if not multiply_adds or not steps:
        return None
    work = 2 * multiply_adds * max(1, result.items) * _passes(result)
    return roofline_position(
        work=work,
        seconds=median(steps),
        moved=_number(result.facts.get("bytes_accessed")),
        peak=peak(result, str(result.case.options.get("precision", "float32"))),
        bandwidth=peak(result, "copy"),
    )


def floor(result: Result) -> Floor | None:
    """None if the multiply-adds are not known."""
    counted = _number(result.facts.get("multiply_adds"))
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
    device = str(result.facts.get("device", result.facts.get("devices", "cpu"))).lower()
    on_gpu = any(word in device for word in ("gpu", "cuda", "rocm"))
    name = f"{'gpu0' if on_gpu else 'cpu'}_peak_{_PEAKS.get(what, what)}"
    return _number(result.environment.machine.get(name))


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
