"""How much of what the machine can do a case does: FLOP/s against measured peaks."""

from __future__ import annotations

from statistics import median

import msgspec

from assay.core.records import Result, Value

# A training step does the forward work three times: forward, and twice backward, for the
# gradients of inputs and of weights (Kaplan et al. 2020, section 2.1).
PASSES = {"infer": 1, "train": 3}

_PEAKS = {"pure-bfloat16": "bfloat16"}


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """Where a case stands under the roof."""

    flops: float  # FLOP/s, counted as two for each multiply-add
    peak: float | None = None  # FLOP/s, measured on this device in this precision
    share: float | None = None  # of the peak; what is called MFU
    intensity: float | None = None  # FLOP for each byte moved
    bound: str = ""  # "memory" or "compute", where the bytes are known
    note: str = ""


def position(result: Result) -> Position | None:
    """None where the multiply-adds or the steps of a case are not known."""
    counted = _number(result.facts.get("multiply_adds"))
    steps = result.values("step_time")
    if not counted or not steps:
        return None
    work = 2 * counted * max(1, result.items) * _passes(result)
    return under_roof(
        work=work,
        seconds=median(steps),
        moved=_number(result.facts.get("bytes_accessed")),
        peak=peak(result, str(result.case.options.get("precision", "float32"))),
        bandwidth=peak(result, "copy"),
    )


def floor(result: Result) -> Floor | None:
    """None where the multiply-adds are not known."""
    counted = _number(result.facts.get("multiply_adds"))
    if not counted:
        return None
    passes = _passes(result)
    work = 2 * counted * max(1, result.items) * passes
    most = peak(result, str(result.case.options.get("precision", "float32")))
    return Floor(
        multiply_adds=counted,
        items=max(1, result.items),
        passes=passes,
        flops=work,
        peak=most,
        seconds=work / most if most else None,
    )


def under_roof(
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
    """By the mode that ran: what makes text infers, whatever mode was asked for."""
    asked = result.case.options.get("mode", "train")
    return PASSES.get(str(result.facts.get("mode", asked)), 1)


def _note(share: float | None) -> str:
    if share is None:
        return "no measured peak of this machine is kept: run assay doctor first"
    if share > 1:
        return (
            f"{share:.2f} times the measured peak: fewer operations are done than are counted, "
            "as by Winograd convolution, or the peak was measured on a busier machine"
        )
    return ""


def peak(result: Result, what: str) -> float | None:
    """The peak of the device the case ran on, kept with its environment."""
    device = str(result.facts.get("device", result.facts.get("devices", "cpu"))).lower()
    on_gpu = any(word in device for word in ("gpu", "cuda", "rocm"))
    name = f"{'gpu0' if on_gpu else 'cpu'}_peak_{_PEAKS.get(what, what)}"
    return _number(result.environment.machine.get(name))


def _number(value: Value | None) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known and value is not None else None


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """The least time a step can take by arithmetic alone."""

    multiply_adds: float  # of one item's forward pass
    items: int
    passes: int  # forward passes a step is worth
    flops: float  # of one step
    peak: float | None = None  # FLOP/s, measured; None: not known
    seconds: float | None = None
