"""Benchmark classes as functions: run them, find them, compare them, set up what they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.commands.bench import fold_engine_bench_names
from assay.commands.bench.process import Outputs, case_of, in_its_folder, run_once
from assay.commands.compare.api import ALL, Comparing, compare_results
from assay.core.differences import Differences
from assay.core.errors import UsageError
from assay.core.findings import Trials
from assay.core.progress import ignore
from assay.core.records import Plan, Procedure, Query, Result
from assay.core.registry import open_store
from assay.core.settings import Home
from assay.formats.perfzero.messages import Benched, BenchSetting, FindMethods, FoundMethods
from assay.formats.perfzero.names import Method, parse
from assay.formats.perfzero.setup import Download, Repository
from assay.measure.machine.environment import safe_tags
from assay.measure.recorder import Run, new_run

BeginCallback = Callable[[Method, int], None]  # called when a method begins, with its trial


def bench(
    *names: str,
    setting: BenchSetting = BenchSetting(),  # noqa: B008 (frozen)
    trials: int = 1,
    label: str = "",
    tags: Mapping[str, str] | None = None,
    home: Home = None,
    progress: BeginCallback = ignore,
    outputs: Outputs = in_its_folder,
    missing: Callable[[str], None] | None = None,
) -> Iterator[Benched]:
    """Run benchmark methods, `module.Class.method`; each result is kept, then yielded.

    With `missing`, a filter that finds no method does not stop the others: it is told why.

    >>> for benched in assay.bench("my_pkg.bench.Resnet.filter:benchmark_.*", trials=5):
    ...     print(benched.result.case.key, benched.result.values("wall_time"))
    """
    if trials < 1:
        raise UsageError(f"trials is {trials}, but has to be 1 or more.", hint="--trials 5")
    methods = fold_engine_bench_names.discover(parse(names), setting, missing)
    plan = Plan(
        cases=tuple(case_of(method, setting) for method in methods),
        procedure=Procedure(timeout=setting.timeout),
        label=label,
        tags=safe_tags(dict(tags or {})),
        verb="bench",
    )
    # the whole list once, then again, as PerfZero does it: slow drift hits all of them
    turns = ((method, trial) for trial in range(1, trials + 1) for method in methods)
    return _kept(plan, turns, home, _Bench(setting, progress, outputs))


class _Bench(NamedTuple):
    """How every method of a run is run."""

    setting: BenchSetting
    progress: BeginCallback
    outputs: Outputs

    def each(
        self, turns: Iterable[tuple[Method, int]], run: Run
    ) -> Iterator[tuple[Benched, list[Result]]]:
        for method, trial in turns:
            self.progress(method, trial)
            benched = run_once(method, trial, self.setting, run.new_case(), self.outputs)
            yield benched, [benched.result]


def _kept(
    plan: Plan, turns: Iterable[tuple[Method, int]], home: Home, how: _Bench
) -> Iterator[Benched]:
    with new_run(plan, home) as run:
        for benched, (reading,) in run.keep(how.each(turns, run)):
            yield msgspec.structs.replace(benched, result=reading.result)


def benchmarks(*packages: str, python: str = "", python_path: Sequence[str] = ()) -> FoundMethods:
    """The benchmark methods of packages or modules, found in a fresh process."""
    return fold_engine_bench_names.look(
        FindMethods(packages=packages, python_path=tuple(python_path)), python
    )


def over_trials(results: Iterable[Result]) -> list[Trials]:
    """Each metric of each case over all trials: median, interval, outliers."""
    from assay.commands.bench.fold_analysis_bench import over_trials

    return over_trials(results)


def bench_differences(first: str, second: str, home: Home = None) -> Differences:
    """What benchmark methods gave under two labels, over all trials of each: every metric."""
    kept = {}
    for label in (first, second):
        with closing(open_store(home)) as store:
            kept[label] = list(store.results(Query(label=label, backend="bench")))
        if not kept[label]:
            raise UsageError(
                f"No benchmark method was run under the label '{label}'.",
                hint="assay list results --backend bench shows the labels there are.",
            )
    return compare_results(kept[first], kept[second], (first, second), Comparing(metric=ALL))


def check_out(repository: Repository, cached: bool = False) -> dict[str, str | bool]:
    """A git repository at the commit asked for; where it comes from and what it is at."""
    from assay.measure.git import check_out

    return check_out(repository, cached)


def checkout_info(folder: Path) -> dict[str, str | bool]:
    """Where a checkout comes from and what it is at."""
    from assay.measure.git import info

    return info(folder)


def safe_flags(flags: Mapping[str, object]) -> dict[str, object]:
    """Without passwords in URLs, and whatever else looks secret."""
    from assay.core.redaction import safe_text

    return {
        name: safe_text(value) if isinstance(value, str) else value for name, value in flags.items()
    }


def obtain(download: Download, progress: Callable[[str, int, int | None], None] = ignore) -> bool:
    """A file that is there afterwards, unpacked if it is an archive; whether it had to be got."""
    from assay.commands.bench.fold_engine_obtain import fetch_if_missing

    return fetch_if_missing(download, progress)
