"""Benchmark classes as functions: run them, find them, compare them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from assay.core.options import Flag, Label, Seconds, StoreUrl, Tags, accept_old_keywords
from assay.core.progress import ignore
from assay.formats.perfzero.messages import BenchResult, BenchSetting, FindMethods, FoundMethods
from assay.formats.perfzero.names import Method

if TYPE_CHECKING:
    from assay.commands.bench.trials import Trials
    from assay.commands.compare.api import Differences
    from assay.core.records import Result


@accept_old_keywords(home="store")
def bench(
    *methods: str,
    trials: Annotated[int, Flag("Fresh processes per method.")] = 1,
    timeout: Annotated[Seconds, Flag("Limit for one run of one method.")] = "1h",
    python: Annotated[str, Flag("Virtual environment or interpreter to run in.")] = "",
    python_path: Annotated[
        Sequence[str | Path],
        Flag("Folder to import from; repeatable.", "FOLDER", flags="--python-path"),
    ] = (),
    data_dir: Annotated[str | Path, Flag("Passed to the class as root_data_dir.")] = "/data",
    constructor_args: Annotated[
        str | Mapping[str, object],
        Flag("Additional constructor arguments.", "JSON", read="text"),
    ] = "",
    plain: Annotated[bool, Flag("Pass only --constructor-args to the constructor.")] = False,
    profile: Annotated[
        str,
        Flag("Windows to profile, in seconds after the method began.", "BEGIN:END,…"),
    ] = "",
    label: Label = "",
    tags: Tags = None,
    store: StoreUrl = None,
    progress: Callable[[Method, int], None] = ignore,
    outputs: Callable[[Path], tuple[Path, str]] | None = None,
    missing: Callable[[str], None] | None = None,
    setting: BenchSetting | None = None,
) -> Iterator[BenchResult]:
    """Run benchmark methods, `module.Class.method`; each result is kept, then yielded.

    With `missing`, a filter that finds no method does not stop the others: it is told why.
    `progress` is called when a method begins, with its trial; `outputs` chooses a method's output
    folder. A `setting` replaces the parameters from `timeout` to `profile`.

    >>> for benched in assay.bench("my_pkg.bench.Resnet.filter:benchmark_.*", trials=5):
    ...     print(benched.result.case.key, benched.result.values("wall_time"))
    """
    from assay.commands.bench import loop
    from assay.commands.bench.process import default_output_dir

    loop.check_trials(trials)
    setting = setting or make_setting(
        timeout, python, python_path, data_dir, constructor_args, plain, profile
    )
    chosen = loop.find_methods(methods, setting, missing)
    plan = loop.make_plan(chosen, setting, label, tags)
    how = loop.Bench(setting, progress, outputs or default_output_dir)
    return loop.run_and_save(plan, chosen, trials, how, store)


def make_setting(
    timeout: Seconds,
    python: str,
    python_path: Sequence[str | Path],
    data_dir: str | Path,
    constructor_args: str | Mapping[str, object],
    plain: bool,
    profile: str,
) -> BenchSetting:
    """The record that the process of a method gets."""
    from assay.core.units import as_seconds
    from assay.formats.perfzero import windows
    from assay.formats.perfzero.construct import read_arguments

    if isinstance(constructor_args, str):
        constructor_args = read_arguments(constructor_args, "--constructor-args")
    return BenchSetting(
        python=python,
        python_path=tuple(str(Path(path).absolute()) for path in python_path),
        root_data_dir=str(data_dir),
        constructor_args=dict(constructor_args),
        plain=plain,
        windows=windows.parse(profile),
        timeout=as_seconds(timeout, "timeout", "1h"),
    )


def benchmarks(*packages: str, python: str = "", python_path: Sequence[str] = ()) -> FoundMethods:
    """The benchmark methods of packages or modules, found in a fresh process."""
    from assay.commands.bench.process import find_methods

    return find_methods(FindMethods(packages=packages, python_path=tuple(python_path)), python)


def summarize_trials(results: Iterable[Result]) -> list[Trials]:
    """Each metric of each case over all trials: median, interval, outliers."""
    from assay.commands.bench.trials import summarize_trials

    return summarize_trials(results)


@accept_old_keywords(home="store")
def bench_differences(first: str, second: str, store: StoreUrl = None) -> Differences:
    """What benchmark methods gave under two labels, over all trials of each: every metric."""
    from assay.commands.compare.api import ALL_METRICS, CompareOptions, compare_results
    from assay.core.errors import UsageError
    from assay.core.records import Query
    from assay.core.registry import open_store

    results = {}
    for label in (first, second):
        with closing(open_store(store)) as opened:
            results[label] = list(opened.results(Query(label=label, backend="bench")))
        if not results[label]:
            raise UsageError(
                f"No benchmark method was run under the label '{label}'.",
                hint="assay list results --backend bench shows the labels there are.",
            )
    return compare_results(
        results[first], results[second], (first, second), CompareOptions(metric=ALL_METRICS)
    )
