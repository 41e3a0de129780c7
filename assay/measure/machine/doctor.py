"""`assay doctor`: hardware, current noise, remedies tried, and peak rates of this machine."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np

from assay.backends.devices import PROBES
from assay.core import codec, guard, registry, start
from assay.core.budget import Budget
from assay.core.clock import Clock
from assay.core.errors import StoreError
from assay.core.files import read_plain, write_atomic
from assay.core.records import SCHEMA, Value
from assay.measure.machine import environment

FILE = "doctor.json"
SECONDS = 60.0  # of a checkup, all in all
PEAKS_LIMIT = 120.0  # seconds, for peaks that are measured for a result
QUICK = 4  # a quick one takes this part of it
NOISE_SHARE = 0.5  # of the budget, at most, for the first look at the noise
FRAMEWORKS_SHARE = 0.25  # of the budget, kept for the frameworks while peaks are measured
LONGER_FACTOR = 4  # times as many seconds, for the remedy of longer sampling

LATE = "it did not answer in time"

# Peaks are only reused on a machine where these are equal.
_IDENTITY = ("cpu", "cpus_allowed", "cgroup_cpus", "memory", "gpus", "gpu0")


def examine(
    home: Path, quick: bool, progress: Callable[[str], None], clock: Clock = time.monotonic
) -> Checkup:
    """All that can be measured in a minute, or in a quarter of it if `quick`; stored in `home`, so
    that results can use the peaks. What the time was too short for is `left_out`."""
    _check_writable(home)
    budget = Budget(SECONDS / (QUICK if quick else 1), clock)
    machine = environment.current_environment().machine
    seconds = 0.6 if quick else 2.5
    progress("how noisy this machine is now …")
    noise = _noise(_Trial("noise", "", seconds), NOISE_SHARE * budget.seconds)
    opening = max(0.0, budget.spent - seconds)
    progress("the highest rates of this machine …")
    reserve = FRAMEWORKS_SHARE * budget.seconds
    peaks, complete = _peaks(0.2 if quick else 0.8, machine, max(0.0, budget.left - reserve))
    progress("which framework sees which device …")
    frameworks = _frameworks(budget)
    remedies, untried = _try_remedies(noise, seconds, opening, budget, progress)
    left_out = [] if noise else ["noise"]
    left_out += [] if complete else ["highest rates" if not peaks else "some highest rates"]
    left_out += [f.name for f in frameworks if f.problem == LATE] + untried
    checkup = Checkup(
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine,
        frameworks=frameworks,
        backends={name: registry.backend(name).missing() for name in registry.names("backends")},
        monitors={name: _missing_reason(name) for name in registry.names("monitors")},
        noise=noise,
        remedies=remedies,
        peaks=_merge_peaks(peaks, _stored_peaks(home)),
        budget=budget.seconds,
        seconds=round(budget.spent, 1),
        left_out=tuple(left_out),
    )
    write_atomic(home / FILE, codec.encode(checkup, indent=2))
    return checkup


def peaks_for(home: Path) -> dict[str, Value]:
    """Stored peaks as facts such as `cpu_peak_float32`; empty if of another machine."""
    return {f"{peak.device}_peak_{peak.what}": peak.rate for peak in _stored_peaks(home)}


def fresh_peaks(seconds: float = 0.2) -> dict[str, Value]:
    """Peaks as facts, measured now: each kernel for so many seconds, after some for the start."""
    peaks, _ = _peaks(seconds, {}, PEAKS_LIMIT)
    return {f"{peak.device}_peak_{peak.what}": peak.rate for peak in peaks}


def _stored_peaks(home: Path) -> tuple[Peak, ...]:
    try:
        checkup = codec.decode(read_plain(home / FILE, 1 << 24), Checkup, str(home / FILE))
    except (OSError, StoreError):  # a measurement must not fail because no peak is known
        return ()
    now = environment.current_environment().machine
    same = all(checkup.machine.get(name) == now.get(name) for name in _IDENTITY)
    return checkup.peaks if same else ()


def _merge_peaks(peaks: tuple[Peak, ...], before: tuple[Peak, ...]) -> tuple[Peak, ...]:
    """The higher rate of both: a busy machine does not lower a peak."""
    best = {(peak.device, peak.what): peak for peak in before}
    for peak in peaks:
        key = (peak.device, peak.what)
        if key not in best or peak.rate > best[key].rate:
            best[key] = peak
    return tuple(best.values())


def _check_writable(home: Path) -> None:
    """Fail before the measurement, not after it."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        write_atomic(home / f".{FILE}", b"")
        (home / f".{FILE}").unlink()
    except OSError as error:
        raise StoreError(
            f"{home} cannot be written to ({error.strerror}).",
            hint="Choose another folder with --home or ASSAY_HOME.",
        ) from None


class _Trial(NamedTuple):
    name: str
    how: str
    seconds: float
    variables: dict[str, str] = {}  # noqa: RUF012 (never changed)
    cpus: tuple[int, ...] = ()


def _try_remedies(
    noise: Noise | None,
    seconds: float,
    opening: float,
    budget: Budget,
    progress: Callable[[str], None],
) -> tuple[tuple[Remedy, ...], list[str]]:
    """The noise with each remedy, and the names of those that there was no time for. `opening`:
    seconds that the first probe took beside its own."""
    if not noise:
        return (), []
    remedies = [
        Remedy(
            name="interleave what is compared",
            how="measure A and B in turns, instead of one after the other",
            before=noise.visible_unpaired,
            after=noise.visible,
        )
    ]
    untried = []
    for trial in _trials(seconds):
        after = None
        if budget.left >= trial.seconds + opening:
            progress(f"and so: {trial.name} …")
            after = _noise(trial, budget.left)
        if after is None:
            untried.append(trial.name)
        else:
            remedies.append(
                Remedy(name=trial.name, how=trial.how, before=noise.visible, after=after.visible)
            )
    return tuple(remedies), untried


def _trials(seconds: float) -> list[_Trial]:
    longer = _Trial(f"sample {LONGER_FACTOR} times longer", "--budget 40s", LONGER_FACTOR * seconds)
    first, *others = sorted(os.sched_getaffinity(0))
    if not others:
        return [longer]
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    last = others[-1]
    return [
        longer,
        _Trial("one thread on one CPU", "--threads 1", seconds, single, (first,)),
        _Trial(
            "one thread on the last CPU", f"taskset -c {last} assay …", seconds, single, (last,)
        ),
    ]


def _noise(trial: _Trial, limit: float) -> Noise | None:
    answer = _run_probe(
        ["assay.worker.noise", str(trial.seconds)], limit, trial.variables, trial.cpus
    )
    return noise(*json.loads(answer.text)) if answer.complete and answer.text else None


def _peaks(
    seconds: float, machine: dict[str, Value], limit: float
) -> tuple[tuple[Peak, ...], bool]:
    """Those measured within the limit, and whether these are all."""
    answer = _run_probe(["assay.worker.peaks", str(seconds)], limit)
    whole, _, _ = answer.text.rpartition("\n")  # the last line of a killed probe may be torn
    lines = [json.loads(line) for line in whole.splitlines()]
    peaks = tuple(
        Peak(
            device=line["device"],
            what=line["what"],
            rate=line["rate"],
            unit="B/s" if line["what"] == "copy" else "FLOP/s",
            published=published_peak(str(machine.get(line["device"], "")), line["what"]),
        )
        for line in lines
    )
    return peaks, answer.complete


def _frameworks(budget: Budget) -> tuple[Framework, ...]:
    """Each in its own process, at the same time: most of the time is imports."""
    from importlib.util import find_spec

    names = [name for name in PROBES if find_spec(name)]
    request = [(name, _start(["assay.backends.devices", name])) for name in names]
    return tuple(_framework(name, _answer(process, budget.left)) for name, process in request)


def _framework(name: str, answered: _Answer) -> Framework:
    if answered.late:
        return Framework(name=name, problem=LATE)
    try:
        answer: dict[str, Any] = json.loads(answered.text.splitlines()[-1])
    except (IndexError, ValueError):
        return Framework(name=name, problem="it is installed, but cannot be imported here")
    return Framework(name=name, version=answer["version"], devices=tuple(answer["devices"]))


def _missing_reason(monitor: str) -> str:
    plugin = registry.monitor(monitor)()
    try:
        return plugin.missing()
    finally:
        plugin.close()


def _run_probe(
    words: list[str],
    limit: float,
    variables: dict[str, str] | None = None,
    cpus: tuple[int, ...] = (),
) -> _Answer:
    return _answer(_start(words, variables, cpus), limit)


def _start(
    words: list[str], variables: dict[str, str] | None = None, cpus: tuple[int, ...] = ()
) -> subprocess.Popen[str]:
    started = subprocess.Popen(
        [*start.command(words[0]), *words[1:]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **(variables or {}), **guard.mark_environment()},
    )
    if cpus:
        os.sched_setaffinity(started.pid, cpus)  # before it has a second thread
    return started


class _Answer(NamedTuple):
    """Output of a probe."""

    text: str = ""
    complete: bool = True  # it ended well
    late: bool = False  # it was ended at its limit


def _answer(process: subprocess.Popen[str], limit: float) -> _Answer:
    try:
        reported, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        reported, _ = process.communicate()
        return _Answer(reported, complete=False, late=True)
    return _Answer(reported, complete=process.returncode == 0)


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """An A/A test of a fixed computation."""

    spread: float  # coefficient of variation of single samples
    difference: float  # seen between the two, as a share; the true difference is 0
    visible: float  # minimum detectable effect at 80 % power
    visible_unpaired: float  # the same without interleaving in pairs
    pairs: int


class Remedy(msgspec.Struct, frozen=True, kw_only=True):
    """Something that may reduce noise, and its measured effect."""

    name: str
    how: str
    before: float  # minimum detectable effect without it
    after: float  # and with it

    @property
    def helps(self) -> bool:
        return self.after < 0.9 * self.before  # less is within the noise of the noise


class Framework(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    version: str = ""
    devices: tuple[str, ...] = ()
    problem: str = ""


class Peak(msgspec.Struct, frozen=True, kw_only=True):
    device: str  # cpu, gpu0, …
    what: str  # a precision of the matrix product, or copy
    rate: float
    unit: Literal["FLOP/s", "B/s"]
    published: float | None = None  # by the maker; None: not known

    @property
    def exceeds(self) -> bool:
        return self.published is not None and self.rate > self.published


class Checkup(msgspec.Struct, frozen=True, kw_only=True):
    when: str  # UTC, ISO 8601
    machine: dict[str, Value] = {}
    frameworks: tuple[Framework, ...] = ()
    backends: dict[str, str] = {}  # name → why it cannot be used, or ""
    monitors: dict[str, str] = {}
    noise: Noise | None = None
    remedies: tuple[Remedy, ...] = ()
    peaks: tuple[Peak, ...] = ()
    budget: float = 0.0  # seconds; 0: not known
    seconds: float = 0.0  # that it took
    left_out: tuple[str, ...] = ()  # what the budget was too short for
    schema: int = SCHEMA
    kind: Literal["doctor"] = "doctor"


# Published peak rates in FLOP/s and B/s, dense, from the data sheets of NVIDIA: T4 (2019), V100
# (2020), A100 (2021), L4, L40S, H100 and H200 (2023 to 2024). float64 is of tensor cores if any.
_HOPPER = {
    "float64": 67e12,
    "float32": 67e12,
    "tf32": 494.7e12,
    "bfloat16": 989.4e12,
    "float16": 989.4e12,
    "int8": 1979e12,
}

# The first key that is part of a GPU's name counts.
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
    """None if not known; of CPUs none is."""
    for part, rates in _GPUS.items():
        if part in name:
            return rates.get(what)
    return None


RESAMPLES = 1000

# A change of this many half-widths of a 95 % interval is seen in 80 % of trials:
# (1.96 + 0.84) / 1.96, the usual power calculation for a normal estimate.
POWER = (1.960 + 0.842) / 1.960


def noise(first: Sequence[float], second: Sequence[float]) -> Noise:
    """From samples in pairs, each pair close in time."""
    a, b = np.log(np.asarray(first, float)), np.log(np.asarray(second, float))
    together = np.exp(np.concatenate([a, b]))
    random = np.random.default_rng(0)
    picks, others = random.integers(0, len(a), (2, RESAMPLES, len(a)))
    paired = np.median((b - a)[picks], axis=1)
    unpaired = np.median(b[picks], axis=1) - np.median(a[others], axis=1)
    return Noise(
        spread=float(np.std(together) / np.mean(together)),
        difference=float(np.expm1(np.median(b - a))),
        visible=POWER * _half_width(paired),
        visible_unpaired=POWER * _half_width(unpaired),
        pairs=len(a),
    )


def _half_width(values: np.ndarray) -> float:
    low, high = np.quantile(values, (0.025, 0.975))
    return float(high - low) / 2
