"""Benchmark classes as functions: run them, find them, compare them, set up what they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from assay import settings
from assay.benches.asked import Benched, Find, Found, Setting
from assay.benches.names import parse
from assay.benches.setup import Download, Repository
from assay.errors import UsageError
from assay.findings import Difference, Trials
from assay.records import Query, Result
from assay.stores.sql import SqlStore

Home = str | Path | None


def bench(
    *names: str,
    setting: Setting = Setting(),  # noqa: B008 (frozen)
    trials: int = 1,
    label: str = "",
    tags: Mapping[str, str] | None = None,
    home: Home = None,
    watch: Callable[..., None] | None = None,
    outputs: Callable[[Path], tuple[Path, str]] | None = None,
) -> Iterator[Benched]:
    """Run benchmark methods, `module.Class.method`; each result is kept, then yielded.

    >>> for benched in assay.bench("my_pkg.bench.Resnet.filter:benchmark_.*", trials=5):
    ...     print(benched.result.case.key, benched.result.values("wall_time"))
    """
    from assay import benchkeep, benchlook, benchrun, environment

    methods = benchlook.discover(parse(names), setting)
    safe = environment.safe_tags(dict(tags or {}))
    asked = benchkeep.plan_of(methods, setting, trials, label, safe)
    store = SqlStore(settings.home(home))
    place = outputs or benchrun.in_its_folder
    return benchkeep.keep(methods, setting, trials, asked, store, watch or _ignore, place)


def benchmarks(*packages: str, python: str = "", python_path: Sequence[str] = ()) -> Found:
    """The benchmark methods of packages or modules, found in a fresh process."""
    from assay.benchlook import look

    return look(Find(packages=packages, python_path=tuple(python_path)), python)


def over_trials(results: Iterable[Result]) -> list[Trials]:
    """Each metric of each case over all trials: median, interval, outliers."""
    from assay.analysis.trials import over_trials

    return over_trials(results)


def bench_differences(first: str, second: str, home: Home = None) -> list[Difference]:
    """What benchmark methods gave under two labels, over all trials of each."""
    from assay.analysis.trials import differences

    kept = {}
    for label in (first, second):
        store = SqlStore(settings.home(home))
        kept[label] = list(store.results(Query(label=label, backend="bench")))
        store.close()
        if not kept[label]:
            raise UsageError(
                f"No benchmark method was run under the label '{label}'.",
                hint="assay list results --backend bench shows the labels there are.",
            )
    return differences(kept[first], kept[second])


def check_out(repository: Repository, cached: bool = False) -> dict[str, str | bool]:
    """A git repository at the commit asked for; where it comes from and what it is at."""
    from assay.checkout import check_out

    return check_out(repository, cached)


def checkout_info(folder: Path) -> dict[str, str | bool]:
    """Where a checkout comes from and what it is at."""
    from assay.checkout import info

    return info(folder)


def safe_flags(flags: Mapping[str, object]) -> dict[str, object]:
    """Without passwords in URLs, and whatever else looks secret."""
    from assay.redaction import safe_text

    return {
        name: safe_text(value) if isinstance(value, str) else value for name, value in flags.items()
    }


def obtain(download: Download, watch: Callable[[str, int, int | None], None] | None = None) -> bool:
    """A file that is there afterwards, unpacked if it is an archive; whether it had to be got."""
    from assay.obtain import obtain

    return obtain(download, watch or _ignore)


def _ignore(*_: object) -> None:
    pass
