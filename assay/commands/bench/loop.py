"""The loop over methods and trials; each result is stored, then yielded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from assay.commands.bench.process import Outputs, case_of, discover, run_once
from assay.core.errors import UsageError
from assay.core.records import Plan, Procedure, Result
from assay.core.settings import Home
from assay.formats.perfzero.messages import BenchResult, BenchSetting
from assay.formats.perfzero.names import Method, parse
from assay.measure.machine.environment import safe_tags
from assay.measure.recorder import Recorder, new_run

BeginCallback = Callable[[Method, int], None]  # called when a method begins, with its trial


class Bench(NamedTuple):
    """How every method of a run is run."""

    setting: BenchSetting
    progress: BeginCallback
    outputs: Outputs

    def run_trials(
        self, turns: Iterable[tuple[Method, int]], run: Recorder
    ) -> Iterator[tuple[BenchResult, list[Result]]]:
        for method, trial in turns:
            self.progress(method, trial)
            benched = run_once(method, trial, self.setting, run.new_case(), self.outputs)
            yield benched, [benched.result]


def find_methods(
    names: Iterable[str], setting: BenchSetting, missing: Callable[[str], None] | None
) -> list[Method]:
    """The methods that the names stand for."""
    return discover(parse(names), setting, missing)


def make_plan(
    methods: Iterable[Method], setting: BenchSetting, label: str, tags: Mapping[str, str] | None
) -> Plan:
    return Plan(
        cases=tuple(case_of(method, setting) for method in methods),
        procedure=Procedure(timeout=setting.timeout),
        label=label,
        tags=safe_tags(dict(tags or {})),
        verb="bench",
    )


def check_trials(trials: int) -> None:
    if trials < 1:
        raise UsageError(f"trials is {trials}, but has to be 1 or more.", hint="--trials 5")


def run_and_save(
    plan: Plan, methods: list[Method], trials: int, bench: Bench, store: Home
) -> Iterator[BenchResult]:
    """The whole list once, then again, as PerfZero does it: slow drift hits all of them."""
    turns = ((method, trial) for trial in range(1, trials + 1) for method in methods)
    with new_run(plan, store) as run:
        for benched, (reading,) in run.record(bench.run_trials(turns, run)):
            yield msgspec.structs.replace(benched, result=reading.result)
