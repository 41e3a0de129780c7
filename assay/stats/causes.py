"""Differences between two results, most likely cause first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from assay.core.records import Result
from assay.core.units import human
from assay.stats.machine_speed import format_change, machine_change

_COMPUTES = re.compile(
    r"(jax|jaxlib|jax.cuda.*|torch|tensorflow|keras|numpy|onnxruntime.*|openvino|triton|mkl.*|"
    r"scipy|xla.*|nvidia.*|intel.*|openblas.*|oneccl.*|onednn.*|flash.attn|assay)",
    re.IGNORECASE,
)
_THREADS = re.compile(r"(OMP|MKL|OPENBLAS|KMP|GOMP)_\w+|TF_NUM_\w+")
_COMPILER = re.compile(
    r"XLA_\w+|TORCH\w*|INDUCTOR_\w+|TRITON_\w+|JAX_\w+|TF_\w+|ONEDNN_\w+|DNNL_\w+"
)
MIN_LOAD_CHANGE = 0.25  # of all CPUs, or of the load: smaller differences are ignored
_MIN_PEAK_CHANGE = 0.2  # smaller relative differences of peaks are ignored


class _FactWeight(NamedTuple):
    """Weight of a fact of the machine or system, and why it matters."""

    weight: int
    why: str
    kind: str = "machine"


_FACTS = {
    "cpu": _FactWeight(95, "another processor has another speed"),
    "gpu0": _FactWeight(95, "another GPU has another speed", "driver"),
    "gpus": _FactWeight(90, "more or fewer GPUs"),
    "cpus_allowed": _FactWeight(90, "fewer CPUs may be used"),
    "cgroup_cpus": _FactWeight(90, "the container may use another share of the CPUs"),
    "cpus": _FactWeight(85, "more or fewer CPUs"),
    "cpu_flags": _FactWeight(85, "kernels are chosen by the processor's instructions"),
    "governor": _FactWeight(80, "the governor sets the clock", "clock"),
    "turbo": _FactWeight(80, "turbo changes the clock by up to a half", "clock"),
    "smt": _FactWeight(70, "two threads share a core", "clock"),
    "cgroup_memory": _FactWeight(40, "less memory for caches"),
    "swap_used": _FactWeight(30, "memory was written to disk", "neighbours"),
    "driver": _FactWeight(80, "the driver compiles and schedules kernels", "driver"),
    "cuda": _FactWeight(80, "its libraries hold the kernels", "driver"),
    "cudnn": _FactWeight(85, "its convolutions are the kernels", "driver"),
    "nccl": _FactWeight(50, "it moves data between GPUs", "driver"),
    "kernel": _FactWeight(40, "the kernel schedules processes", "system"),
    "os": _FactWeight(20, "libraries of the system differ", "system"),
    "image": _FactWeight(60, "another container image", "system"),
    "image_digest": _FactWeight(60, "another container image", "system"),
    "hostname": _FactWeight(15, "another machine of the same kind", "machine"),
    "virtual_machine": _FactWeight(50, "a hypervisor takes its share", "machine"),
}
_VOLATILE = {"load_average", "memory_available", "swap_used", "platform"}  # differ every time
_VOLATILE |= {"yardstick", "yardstick_spread", "yardstick_python"}


# Facts that follow from other differences, and values that are not shown.
_CONSEQUENCES = {"unwaited", "parameters", "weights_bytes", "multiply_adds"}
_CONSEQUENCES |= {"counted_multiply_adds", "input_shape", "output_shape", "output_dtype"}
_VALUES = {"outputs", "outputs_largest", "outputs_norm", "weights_norm"}


def differences(before: Result, after: Result) -> list[Cause]:
    """Differences by weight; facts that differ between any two runs are ignored or weigh little."""
    changes = [
        *_case_changes(before, after),
        *_sources(before, after),
        *_commits(before, after),
        *_packages(before, after),
        *_variables(before.environment.variables, after.environment.variables),
        *_machine(before, after),
        *_load(before, after),
        *_speed(before, after),
        *_facts(before, after),
        *_peaks(before, after),
    ]
    return sorted(changes, key=lambda change: (-change.weight, change.kind, change.what))


def _changes(
    before: Mapping[str, object], after: Mapping[str, object]
) -> Iterator[tuple[str, str, str]]:
    for name in sorted({*before, *after}):
        old, new = str(before.get(name, "")), str(after.get(name, ""))
        if old != new:
            yield name, old, new


def _case_changes(before: Result, after: Result) -> Iterator[Cause]:
    """Differences of the cases themselves."""
    first, second = before.case, after.case
    for kind, olds, news in (
        ("workload", {"workload": first.workload}, {"workload": second.workload}),
        ("workload", {"version": before.workload_version}, {"version": after.workload_version}),
        ("backend", {"backend": first.backend}, {"backend": second.backend}),
        ("parameter", first.params, second.params),
        ("option", first.options, second.options),
    ):
        for name, old, new in _changes(olds, news):
            yield Cause(
                kind=kind,
                what=name,
                before=old,
                after=new,
                weight=100,
                why="it is not the same work",
                proof=f"assay ab '{first.key}' '{second.key}'",
            )


def _sources(before: Result, after: Result) -> Iterator[Cause]:
    """Edited files of a user's workload."""
    first, second = before.known_source, after.known_source
    if first is None or second is None:
        return
    if first.identity != second.identity:
        yield Cause(
            kind="workload",
            what="repository and file",
            before=first.identity,
            after=second.identity,
            weight=100,
            why="it is not the same work",
        )
        return
    for name, old, new in _changes(first.files, second.files):
        yield Cause(
            kind="source",
            what=name,
            before=old[:12],
            after=new[:12],
            weight=90,
            why="the file was edited",
        )


def _commits(before: Result, after: Result) -> Iterator[Cause]:
    first, second = before.environment.git, after.environment.git
    if str(first.get("commit", "")) != str(second.get("commit", "")):
        old, new = str(first.get("commit", ""))[:12], str(second.get("commit", ""))[:12]
        proof = f"assay ab '{after.case.key}' --commit {old} --commit {new}" if old and new else ""
        yield Cause(
            kind="commit",
            what="commit",
            before=old,
            after=new,
            weight=75,
            why="the code is another",
            proof=proof,
        )
    for name, old, new in _changes(
        {"edits": first.get("dirty", "")}, {"edits": second.get("dirty", "")}
    ):
        yield Cause(
            kind="commit",
            what=name,
            before=old,
            after=new,
            weight=60,
            why="files were not committed",
        )


def _packages(before: Result, after: Result) -> Iterator[Cause]:
    versions = (before.environment.packages, after.environment.packages)
    for name, old, new in _changes(*versions):
        computes = bool(_COMPUTES.fullmatch(name))
        yield Cause(
            kind="package",
            what=name,
            before=old,
            after=new,
            weight=85 if computes else 10,
            why="it computes the steps" if computes else "",
            proof=f"assay bisect --good {name}=={old} --bad {name}=={new} '{after.case.key}'"
            if old and new
            else "",
        )


def _variables(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Cause]:
    for name, old, new in _changes(before, after):
        why, weight = "", 30
        if _THREADS.fullmatch(name):
            why, weight = "it sets the number of threads", 90
        elif _COMPILER.fullmatch(name):
            why, weight = "it sets what a compiler or a kernel library does", 85
        yield Cause(kind="variable", what=name, before=old, after=new, weight=weight, why=why)


def _machine(before: Result, after: Result) -> Iterator[Cause]:
    for olds, news in (
        (before.environment.machine, after.environment.machine),
        (before.environment.system, after.environment.system),
        (_python(before), _python(after)),
    ):
        for name, old, new in _changes(olds, news):
            if name in _VOLATILE or name.startswith("peak"):
                continue
            known = _FACTS.get(
                name, _FactWeight(20, "", "python" if name == "python" else "machine")
            )
            yield Cause(
                kind=known.kind,
                what=name,
                before=old,
                after=new,
                weight=known.weight,
                why=known.why,
            )


def _python(result: Result) -> dict[str, object]:
    return {"python": result.environment.python.get("version", "")}


def _load(before: Result, after: Result) -> Iterator[Cause]:
    """Load average at the start, relative to the number of CPUs."""
    loads = [r.environment.machine.get("load_average") for r in (before, after)]
    cpus = after.environment.machine.get("cpus_allowed") or 1
    if not all(isinstance(load, float | int) for load in loads) or not isinstance(cpus, int):
        return
    old, new = (float(load or 0) for load in loads)
    if abs(new - old) > MIN_LOAD_CHANGE * max(cpus, old, new):
        yield Cause(
            kind="neighbours",
            what="load_average",
            before=f"{old:.2f}",
            after=f"{new:.2f}",
            weight=70 if max(old, new) > cpus / 2 else 35,
            why="other programs took their share of the CPUs",
            proof="measure both again side by side: assay ab",
        )


def _speed(before: Result, after: Result) -> Iterator[Cause]:
    """Speed of the machine, by a fixed computation timed with both."""
    change = machine_change(before, [after])
    if change:
        yield Cause(
            kind="machine",
            what="yardstick",
            before=human(float(before.environment.machine["yardstick"]), "s"),
            after=human(float(after.environment.machine["yardstick"]), "s"),
            weight=75,
            why=f"the machine itself was {format_change(change)}, by a fixed computation",
            proof="measure both again side by side: assay ab",
        )


def _facts(before: Result, after: Result) -> Iterator[Cause]:
    for name, old, new in _changes(before.facts, after.facts):
        if name in _VALUES:  # of outputs and weights, which say nothing about speed
            old, new = (text and "recorded" for text in (old, new))
        if name in _CONSEQUENCES or name in _VALUES:
            yield Cause(kind="fact", what=name, before=old, after=new, weight=5)
        elif not name.startswith("metric "):
            yield Cause(
                kind="fact",
                what=name,
                before=old,
                after=new,
                weight=65,
                why="the backend did it in another way",
            )


def _peaks(before: Result, after: Result) -> Iterator[Cause]:
    for name in sorted(before.peaks.keys() & after.peaks.keys()):
        old, new = before.peaks[name], after.peaks[name]
        clock = "clock" in name or "temperature" in name or "throttl" in name
        if abs(new - old) > _MIN_PEAK_CHANGE * max(abs(old), abs(new)):
            yield Cause(
                kind="clock" if clock else "monitor",
                what=name,
                before=f"{old:.4g}",
                after=f"{new:.4g}",
                weight=60 if clock else 25,
                why="the clock sets the speed" if clock else "",
            )


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A difference between two results, and whether it is known to matter."""

    kind: str  # workload, parameter, option, commit, package, driver, variable, machine, …
    what: str
    before: str  # "" if missing
    after: str
    weight: int  # 0 to 100: how often such a difference is the cause
    why: str = ""  # known effect; "": none
    proof: str = ""  # a command or advice to verify it
