"""A page of text about one result: numbers, phases, distribution, doubts, facts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from assay.core.findings import Quantity, SummarizedResult
from assay.core.records import Result
from assay.core.units import human, plain
from assay.reporting.accuracy import status_text

BARS = " ▁▂▃▄▅▆▇█"
WIDTH = 60  # of a chart, in characters

# quantity → title, in the order of the page
LINES = {
    "step_time": "step time",
    "throughput": "items per second",
    "mean": "mean",
    "min": "fastest",
    "p50": "50 % are under",
    "p90": "90 % are under",
    "p99": "99 % are under",
    "time_to_first_token": "first token",
    "time_per_output_token": "each token after it",
    "time_per_output_token_p90": "90 % are under",
    "time_per_output_token_p99": "99 % are under",
    "decode_throughput": "tokens/s after the first",
    "prefill_peak_share": "prompt, of the peak",
    "decode_peak_share": "tokens, of the peak",
    "decode_bandwidth_share": "tokens, of the bandwidth",
    "cache_memory": "cache of keys and values",
    "flop_rate": "FLOP/s",
    "peak_share": "of the measured peak",
    "coefficient_of_variation": "spread",
    "minimum_detectable_effect": "minimum detectable effect",
}
# in the order they are shown
_RUN_FACTS = (
    *("mode", "device", "threads", "precision", "compute_dtype", "product_dtypes"),
    *("compiler", "cuda_graphs", "data_format", "optimizer", "input_shape", "inputs"),
    *("input_batches", "output_shape"),
    *("parameters", "multiply_adds", "counted_multiply_adds"),
)
_OUTPUTS = ("weights_norm", "outputs_norm", "outputs_largest", "outputs")
# peaks that concern the machine, not the case
_MACHINE_PEAKS = (
    *("machine_busy_cores", "steal_share", "swapped_bytes", "cgroup_throttled_seconds"),
    "monitor_cost",
)
_UNITS = {
    **dict.fromkeys(("memory", "memory_used", "rss", "pss", "vms", "bytes"), "B"),
    "joules": "J",
    "power": "W",
    "seconds": "s",
    "clock": "Hz",
}

PHASES = {"open_time": "open", "first_step": "first step", "total_time": "in all"}


def detail(reading: SummarizedResult) -> str:
    """A page about one result, for a terminal."""
    result = reading.result
    blocks = [
        [f"{result.case.key}  {status_text(reading)}", f"{result.id}  {result.started[:19]}"],
        [f"reason: {result.reason}"] if result.reason else [],
        _numbers(reading.measured_only, LINES) + _reported_lines(reading),
        _phases(reading),
        list(_charts(reading)),
        *_fact_blocks(result),
        _doubts(reading),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def histogram(values: Sequence[float], width: int = WIDTH) -> tuple[str, float, float]:
    """Bars of frequencies and their range, without the 2 % outliers at each end."""
    ordered = sorted(values)
    edge = len(ordered) // 50
    ordered = ordered[edge : len(ordered) - edge]
    low, high = ordered[0], ordered[-1]
    counts = [0] * (width if high > low else 1)
    for value in ordered:
        index = int((value - low) / (high - low) * len(counts)) if high > low else 0
        counts[min(index, len(counts) - 1)] += 1
    return _bars(counts, max(counts)), low, high


def sparkline(values: Sequence[float], width: int = WIDTH) -> str:
    """Bars of medians over time."""
    size = -(-len(values) // width)
    groups = [sorted(values[start : start + size]) for start in range(0, len(values), size)]
    middles = [group[len(group) // 2] for group in groups]
    low, high = min(middles), max(middles)
    return _bars([value - low + (high - low) / 8 for value in middles], (high - low) * 9 / 8)


def _bars(heights: Sequence[float], highest: float) -> str:
    full = len(BARS) - 1
    return "".join(BARS[-int(-full * height // highest) if highest else 1] for height in heights)


def _numbers(quantities: dict[str, Quantity], lines: dict[str, str]) -> list[str]:
    width = max(map(len, lines.values()))
    other_lines = {name: name for name in quantities if name not in LINES and name not in PHASES}
    shown = lines | (other_lines if lines is LINES else {})
    return [
        f"{title:<{width}}  {_number(quantities[name])}"
        for name, title in shown.items()
        if name in quantities
    ]


def _reported_lines(reading: SummarizedResult) -> list[str]:
    """Metrics that the program reported."""
    width = max(map(len, LINES.values()))
    reported = reading.result.reported_metrics
    quantities = {name: q for name, q in reading.summary.quantities.items() if name in reported}
    return [f"{name:<{width}}  {_number(quantity)}" for name, quantity in quantities.items()]


def _number(quantity: Quantity) -> str:
    unit = "" if quantity.unit == "items/s" else quantity.unit
    text = human(quantity.value, unit)
    if math.isfinite(quantity.low):
        text += f"  [{human(quantity.low, unit)}, {human(quantity.high, unit)}]"
    return f"{text}  ({quantity.estimator}, n = {quantity.n})" if quantity.n > 1 else text


def _phases(reading: SummarizedResult) -> list[str]:
    steps = {
        phase: sum(
            len(part.values) * part.steps
            for part in reading.result.measured_only().samples
            if part.phase == phase and part.metric == "step_time"
        )
        for phase in ("warmup", "steady")
    }
    counts = [
        f"{name:<10}  {count} step{'s' if count > 1 else ''}"
        for name, count in steps.items()
        if count
    ]
    spent = _block("where the time went", _phase_shares(reading.result))
    return _numbers(reading.measured_only, PHASES) + counts + ([""] if spent else []) + spent


def _phase_shares(result: Result) -> dict[str, str]:
    """Seconds and share of every phase; they add up to the total."""
    total = sum(result.phases.values()) or 1.0
    width = max((len(human(value, "s")) for value in result.phases.values()), default=0)
    return {
        name: f"{human(value, 's'):>{width}}  {value / total:4.0%}"
        for name, value in result.phases.items()
    }


def _charts(reading: SummarizedResult) -> Iterator[str]:
    """Charts of the steady samples."""
    processes = reading.steady_values()
    skipped = sum(reading.summary.skipped)
    if skipped:
        yield f"{skipped} samples before the steady state are not counted"
    for number, values in enumerate(processes):
        if len(values) < 2:
            continue
        name = f"process {number}: " if len(processes) > 1 else ""
        bars, low, high = histogram(values)
        yield f"{name}how often, from {human(low, 's')} to {human(high, 's')}"
        yield f"  {bars}"
        yield f"{name}over time"
        yield f"  {sparkline(values)}"
    for metric in reading.summary.quantities:  # of a task or benchmark class
        repeats = [value for value in reading.result.values(metric) if math.isfinite(value)]
        if metric != "step_time" and len(repeats) > 2:
            lowest, highest = plain(min(repeats)), plain(max(repeats))
            yield f"{metric}, {len(repeats)} repeats, from {lowest} to {highest}"
            yield f"  {sparkline(repeats)}"


def _doubts(reading: SummarizedResult) -> list[str]:
    return [f"note: {doubt.text}. {doubt.remedy}" for doubt in reading.summary.doubts]


def _fact_blocks(result: Result) -> Iterator[list[str]]:
    """Blocks of lines with headings; facts of no group are `other facts`."""
    facts = {name: str(value) for name, value in result.facts.items()}
    peaks = {name: human(value, unit_of(name)) for name, value in result.peaks.items()}
    ran, outputs = _take(facts, _RUN_FACTS), _take(facts, _OUTPUTS)
    meanwhile = _take(peaks, _MACHINE_PEAKS)
    yield _block("what ran", ran)
    yield _block("what it used", peaks)
    yield _block("the machine meanwhile", meanwhile)
    yield _block("other facts", facts)
    yield _block("to compare its outputs", outputs)


def _take(values: dict[str, str], names: Sequence[str]) -> dict[str, str]:
    return {name: values.pop(name) for name in names if name in values}


def _block(heading: str, lines: Mapping[str, str]) -> list[str]:
    width = max(map(len, lines), default=0)
    texts = [f"  {name:<{width}}  {text}".rstrip() for name, text in lines.items()]
    return [heading, *texts] if texts else []


def unit_of(name: str) -> str:
    """Unit of a peak, by the suffix of its name."""
    return next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")
