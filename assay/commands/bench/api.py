"""Benchmark classes as functions: run them, find them, compare them, set up what they need."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from assay.commands.bench import process
from assay.commands.bench.process import Outputs, case_of, default_output_dir, run_once
from assay.commands.bench.trials import Trials
from assay.commands.compare.api import ALL_METRICS, CompareOptions, Differences, compare_results
from assay.core import objects
from assay.core.archive_members import is_archive
from assay.core.archives import unpack
from assay.core.corrupt import explain_write_errors
from assay.core.errors import AssayError, UsageError
from assay.core.progress import ignore
from assay.core.records import Plan, Procedure, Query, Result
from assay.core.registry import open_store
from assay.core.settings import Home
from assay.datasets.dataset import Remote
from assay.datasets.download import DownloadProgress, check, download
from assay.formats.perfzero.messages import BenchResult, BenchSetting, FindMethods, FoundMethods
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
    outputs: Outputs = default_output_dir,
    missing: Callable[[str], None] | None = None,
) -> Iterator[BenchResult]:
    """Run benchmark methods, `module.Class.method`; each result is kept, then yielded.

    With `missing`, a filter that finds no method does not stop the others: it is told why.

    >>> for benched in assay.bench("my_pkg.bench.Resnet.filter:benchmark_.*", trials=5):
    ...     print(benched.result.case.key, benched.result.values("wall_time"))
    """
    if trials < 1:
        raise UsageError(f"trials is {trials}, but has to be 1 or more.", hint="--trials 5")
    methods = process.discover(parse(names), setting, missing)
    plan = Plan(
        cases=tuple(case_of(method, setting) for method in methods),
        procedure=Procedure(timeout=setting.timeout),
        label=label,
        tags=safe_tags(dict(tags or {})),
        verb="bench",
    )
    # the whole list once, then again, as PerfZero does it: slow drift hits all of them
    turns = ((method, trial) for trial in range(1, trials + 1) for method in methods)
    return _run_and_save(plan, turns, home, _Bench(setting, progress, outputs))


class _Bench(NamedTuple):
    """How every method of a run is run."""

    setting: BenchSetting
    progress: BeginCallback
    outputs: Outputs

    def run_trials(
        self, turns: Iterable[tuple[Method, int]], run: Run
    ) -> Iterator[tuple[BenchResult, list[Result]]]:
        for method, trial in turns:
            self.progress(method, trial)
            benched = run_once(method, trial, self.setting, run.new_case(), self.outputs)
            yield benched, [benched.result]


def _run_and_save(
    plan: Plan, turns: Iterable[tuple[Method, int]], home: Home, how: _Bench
) -> Iterator[BenchResult]:
    with new_run(plan, home) as run:
        for benched, (reading,) in run.record(how.run_trials(turns, run)):
            yield msgspec.structs.replace(benched, result=reading.result)


def benchmarks(*packages: str, python: str = "", python_path: Sequence[str] = ()) -> FoundMethods:
    """The benchmark methods of packages or modules, found in a fresh process."""
    return process.find_methods(
        FindMethods(packages=packages, python_path=tuple(python_path)), python
    )


def summarize_trials(results: Iterable[Result]) -> list[Trials]:
    """Each metric of each case over all trials: median, interval, outliers."""
    from assay.commands.bench.trials import summarize_trials

    return summarize_trials(results)


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
    return compare_results(
        kept[first], kept[second], (first, second), CompareOptions(metric=ALL_METRICS)
    )


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


_ARCHIVES = (".gz", ".tgz", ".tar", ".tbz", ".bz2", ".xz", ".zip")


def fetch_if_missing(wanted: Download, progress: DownloadProgress = ignore) -> bool:
    """Fetch a file, unpacked if it is an archive; return whether it had to be fetched. The file has
    its name only once it is whole and unpacked."""
    if wanted.path.exists():
        return False
    with explain_write_errors(wanted.path):
        wanted.path.parent.mkdir(parents=True, exist_ok=True)
    arrived = _download_temp(wanted, progress)
    if wanted.url.endswith(_ARCHIVES):
        try:
            _check_archive(wanted, arrived)
            if is_archive(arrived):
                unpack(arrived, wanted.path.parent)
        except AssayError:
            arrived.unlink()  # damaged or hostile: another try is to fetch it anew
            raise
    if wanted.path.exists():  # the archive held something of its own name
        arrived.unlink()
    else:
        arrived.rename(wanted.path)
    return True


def _check_archive(wanted: Download, arrived: Path) -> None:
    """Of a single file that is compressed by itself, or only called so, nothing is known."""
    sure = wanted.url.endswith((".tgz", ".tar", ".tbz", ".zip")) or ".tar." in wanted.url
    if sure and not is_archive(arrived):
        raise AssayError(
            f"{wanted.url} is named like an archive, but is none, or is cut.",
            hint="Look what its server sends; a page with an error, perhaps.",
        )


def _download_temp(wanted: Download, progress: DownloadProgress) -> Path:
    """The file, checked, under a name of its own."""
    folder, name = wanted.path.parent, f".{wanted.path.name}.arrived"
    checksum = f"sha256:{wanted.sha256}" if wanted.sha256 else ""
    remote = Remote(url=wanted.url, file=name, checksum=checksum)
    scheme = urlsplit(wanted.url).scheme
    if scheme in {"http", "https"}:
        return download(remote, folder, progress)
    if scheme in {"file", ""}:
        return _copy_file(remote, folder / name)
    if scheme in {"gs", "s3"}:
        return _fetch_object(remote, folder / name)
    raise UsageError(
        f"'{wanted.url}' has the scheme {scheme}, which is not known.",
        hint="Use https, http, gs, s3 or file.",
    )


def _fetch_object(remote: Remote, target: Path) -> Path:
    """An object, or all below a prefix."""
    objects.fetch(remote.url, target)
    try:
        if target.is_file():
            check(remote, target)
    except AssayError:
        target.unlink()
        raise
    return target


def _copy_file(remote: Remote, target: Path) -> Path:
    source = Path(unquote(urlsplit(remote.url).path))
    if not source.is_file():
        raise UsageError(f"There is no file {source}.", hint="As in file:///home/me/data.tar.gz")
    with explain_write_errors(target):
        shutil.copyfile(source, target)
    try:
        check(remote, target)
    except AssayError:
        target.unlink()
        raise
    return target
