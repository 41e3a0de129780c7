"""Honest cases: how many the checks of implausible speeds refuse or name, and what they cost.

    python benchmarks/honest.py                 all backends; about 200 cases, some minutes
    python benchmarks/honest.py torch own       some of them
    python benchmarks/honest.py --quick         a few cases, for the tests

Cases of one backend are opened one after the other in one process, as a worker opens them: facts,
first step, samples, checks. The peaks are measured at the start, in the same minute. The cost is
the wall time of the checks per case, with the steps that they take.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec

from assay.core import messages, registry
from assay.core.case_text import parse_case
from assay.core.records import Case, Environment, Procedure, Result, Samples, arguments
from assay.core.sessions import Job, Stepped
from assay.measure import plan, process_env
from assay.measure.machine.doctor import fresh_peaks
from assay.stats.doubts.implausible import IMPLAUSIBLE_DOUBTS
from assay.stats.doubts.work import above_peak
from assay.stats.roofline import impossible
from assay.worker import server, timing
from assay.worker.rotation import rotate_inputs
from assay.worker.work_check import WorkWatch

SMALL = {
    "mnist-mlp": "batch_size=16,units=64,hidden=2",
    "cifar10-cnn": "batch_size=4,filters=8,units=16",
    "vgg16": "batch_size=2,image_size=32,narrower=8,classes=10",
    "convnext": "batch_size=2,deep=1,width=16,image_size=32,classes=10",
    "dlrm": "batch_size=16,rows=100,depth=4",
    "gru": "batch_size=4,units=16,length=8,features=8",
    "lstm": "batch_size=4,units=16,length=8,features=8",
    "resnet50": "batch_size=2,image_size=32,blocks=1-1-1-1,narrower=8,classes=10",
    "transformer-encoder": "batch_size=4,layers=1,width=32,heads=2,vocabulary=50,length=8",
    "transformer-decoder": "batch_size=2,layers=1,width=32,heads=2,vocabulary=50,length=8",
    "unet": "batch_size=1,filters=4,image_size=32",
    "vit": "batch_size=2,layers=1,width=32,heads=2,image_size=32,patch=16,classes=10",
    "xception": "batch_size=1,image_size=72,middle=1,narrower=8,classes=10",
}
OPTIONS = {
    "torch": (
        *("mode=infer", "mode=train", "mode=infer,precision=bfloat16"),
        *("mode=infer,inputs=fresh", "mode=infer,data_format=channels_last"),
        *("mode=train,inputs=fresh", "mode=train,precision=bfloat16"),
    ),
    "jax": ("mode=infer", "mode=train", "mode=infer,inputs=fresh"),
    "tensorflow": ("mode=infer", "mode=train", "mode=infer,inputs=fresh", "mode=infer,compiler=on"),
    "keras-torch": ("mode=infer", "mode=train"),
    "keras-jax": ("mode=infer",),
    "onnxruntime": ("mode=infer",),
    "native": ("mode=infer",),
}
COMPILED = ("mnist-mlp", "vgg16")  # with Winograd; each takes some seconds to compile
SECONDS = 0.1  # of samples
Build = Callable[[], Job]


def main(words: list[str]) -> None:
    quick = "--quick" in words
    names = [word for word in words if not word.startswith("--")] or [*OPTIONS, "own"]
    if "--worker" in words:
        _measure_all(names[0], json.loads(names[1]), quick)
        return
    peaks = fresh_peaks()
    rows: list[dict[str, Any]] = []
    for name in ["own"] if quick else names:
        rows += _child(name, peaks, quick)
    seconds = sorted(row["check"] for row in rows)
    print(f"{len(rows)} cases, {sum(bool(row['refused']) for row in rows)} refused, ", end="")
    print(f"{sum(bool(row['named']) for row in rows)} named")
    print(f"checks: median {seconds[len(seconds) // 2]:.3f} s, 95 % below ", end="")
    print(f"{seconds[int(0.95 * len(seconds))]:.3f} s, longest {seconds[-1]:.3f} s a case")
    shares = sorted(row["kept"] for row in rows)
    print(f"keeping the output: {shares[len(shares) // 2]:.2%} of a step (median)")


def _child(name: str, peaks: dict[str, Any], quick: bool) -> Iterator[dict[str, Any]]:
    words = [sys.executable, __file__, "--worker", name, json.dumps(peaks)]
    variables = _variables(name)
    with subprocess.Popen(
        [*words, *["--quick"] * quick], stdout=subprocess.PIPE, text=True, env=variables
    ) as child:
        assert child.stdout
        for line in child.stdout:
            if line.startswith("{"):
                yield json.loads(line)
                print(line.strip(), file=sys.stderr)


def _variables(name: str) -> dict[str, str]:
    if name == "own":
        return dict(os.environ)
    case = plan.resolve(parse_case(f"mnist-mlp@{name}"))
    return {**os.environ, **process_env.variables(case, Path(tempfile.mkdtemp()))}


def _measure_all(name: str, peaks: dict[str, Any], quick: bool) -> None:
    cases = list(_own_cases() if name == "own" else _zoo_cases(name))
    for case, build in cases[:4] if quick else cases:
        try:
            row = _measure(case, build, peaks)
        except Exception as error:  # a framework may refuse a case; it is not a case then
            print(f"left out: {case.key}: {error!r:.100}", file=sys.stderr)
            continue
        print(json.dumps(row), flush=True)


def _zoo_cases(backend: str) -> Iterator[tuple[Case, Build]]:
    for workload, params in SMALL.items():
        kinds = registry.workload(workload).kinds
        accepted = [kind for kind in kinds if kind in registry.backend(backend).accepts]
        if not accepted or (backend == "native" and workload not in COMPILED):
            continue
        for chosen in OPTIONS[backend]:
            case = plan.resolve(parse_case(f"{workload}:{params}@{backend}:{chosen}"))
            values = arguments(case.params, registry.workload(workload).params)
            yield case, partial(kinds[accepted[0]], **values)


def _own_cases() -> Iterator[tuple[Case, Build]]:
    """Modules of torch, and callables."""
    import honest_models

    base = plan.resolve(parse_case("mnist-mlp@torch:mode=infer"))
    for mode in ("infer", "train"):
        for inputs in ("same", "fresh"):
            case = msgspec.structs.replace(
                base, options={**base.options, "mode": mode, "inputs": inputs}
            )
            for name, build in honest_models.modules(mode):
                yield msgspec.structs.replace(case, key=f"{name}:{mode}:{inputs}"), build
    call = plan.resolve(parse_case("tests/data/endings.py:fine@python"))
    for name, function in honest_models.callables():
        yield msgspec.structs.replace(call, key=name), partial(Job, model=function)


def _measure(case: Case, build: Build, peaks: dict[str, Any]) -> dict[str, Any]:
    job = build()
    with registry.backend(case.backend).open(lambda: job, case) as opened:
        session = cast(Stepped, opened)
        watch = WorkWatch(session, str(case.options.get("precision", "")))
        facts = {**session.facts(), **server.evidence(session, job, messages.Open(case=case))}
        facts |= rotate_inputs(session, case.options.get("inputs", "same"))
        watch.see_facts(session, facts)
        timing.time_steps(session, 1)
        start = time.perf_counter()
        watch.see_step(session)
        kept = time.perf_counter() - start
        times = [s for _, s in timing.take(session, 1, 1000, SECONDS)]
        start = time.perf_counter()
        facts |= watch.check(session)
        check = kept + time.perf_counter() - start
    result = Result(
        id="r/001",
        case=case,
        procedure=Procedure(),
        status="ok",
        items=session.items,
        facts={**job.facts, **facts},
        samples=(Samples(metric="step_time", unit="s", phase="steady", values=tuple(times)),),
        environment=Environment(machine=peaks),
        peaks={"machine_busy_cores": os.getloadavg()[0], "mean_cpu_percent": 100.0},
    )
    step = sorted(times)[len(times) // 2]
    named = [found.code for doubt in IMPLAUSIBLE_DOUBTS if (found := doubt(result))]
    return {
        "case": case.key,
        "step": step,
        "check": check,
        "kept": _keeping_share(step),
        "named": named,
        "above_peak": bool(above_peak(result)),
        "unchecked": facts.get("unchecked", ""),
        "refused": impossible(result, peaks),
    }


def _keeping_share(step: float) -> float:
    """Of one more attribute assignment, which is all that a step does for the checks."""

    class Keeper:
        output: object = None

        def keep(self) -> None:
            self.output = self

        def leave(self) -> None:
            pass

    keeper, count = Keeper(), 100_000
    spent = []
    for call in (keeper.keep, keeper.leave):
        start = time.perf_counter()
        for _ in range(count):
            call()
        spent.append((time.perf_counter() - start) / count)
    return max(0.0, spent[0] - spent[1]) / step


if __name__ == "__main__":
    main(sys.argv[1:])
