"""Peaks and facts of a result as text, in groups: what one looks for first stands first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.records import Result
from assay.units import human

# in the order they are shown
_RAN = (
    *("mode", "device", "threads", "precision", "compute_dtype", "product_dtypes"),
    *("compiler", "cuda_graphs", "data_format", "optimizer", "input_shape", "output_shape"),
    *("parameters", "multiply_adds", "counted_multiply_adds"),
)
_OUTPUTS = ("weights_norm", "outputs_norm", "outputs_largest", "outputs")
# of the peaks, those that tell of others than this case
_MEANWHILE = (
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


def grouped(result: Result) -> Iterator[list[str]]:
    """Blocks of lines, each below its heading; facts of no group are `other facts`."""
    facts = {name: str(value) for name, value in result.facts.items()}
    peaks = {name: human(value, _unit(name)) for name, value in result.peaks.items()}
    ran, outputs = _taken(facts, _RAN), _taken(facts, _OUTPUTS)
    meanwhile = _taken(peaks, _MEANWHILE)
    yield _block("what ran", ran)
    yield _block("what it used", peaks)
    yield _block("the machine meanwhile", meanwhile)
    yield _block("other facts", facts)
    yield _block("to compare its outputs", outputs)


def _taken(values: dict[str, str], names: Sequence[str]) -> dict[str, str]:
    return {name: values.pop(name) for name in names if name in values}


def _block(heading: str, lines: Mapping[str, str]) -> list[str]:
    wide = max(map(len, lines), default=0)
    told = [f"  {name:<{wide}}  {text}".rstrip() for name, text in lines.items()]
    return [heading, *told] if told else []


def _unit(name: str) -> str:
    return next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")
