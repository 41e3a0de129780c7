"""Run a plan file: measure, upload, check, alert; each run is logged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assay.commands.bench import api
from assay.commands.bench.fetch import fetch_if_missing
from assay.commands.check import alerts as alerting
from assay.commands.check import api as check
from assay.commands.check.api import CheckReport
from assay.commands.schedule import plan_file, run_log
from assay.commands.schedule.plan_file import BenchPart, PlanFile
from assay.commands.schedule.run_log import PlanRun, PlanRunLine
from assay.commands.schedule.timers import parse_time
from assay.core import codec
from assay.core.errors import AssayError, UsageError
from assay.core.options import StoreUrl, accept_old_keywords
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import Plan, Result
from assay.core.settings import Home
from assay.core.units import seconds
from assay.formats.perfzero.messages import BenchSetting
from assay.formats.perfzero.names import parse
from assay.formats.perfzero.setup import downloads, repositories
from assay.measure import inputs
from assay.measure.git import check_out
from assay.measure.plan import make_plan
from assay.measure.recorder import run_cases
from assay.platforms.sinks.records import Upload
from assay.platforms.sinks.upload import check_sinks, upload

FAILED_STATUSES = frozenset({"failed", "crashed", "timeout", "out-of-memory"})
EndedCallback = Callable[[Result], None]  # called with each result once it is kept


@accept_old_keywords(home="store")
def run_plan(
    path: str | Path,
    every: str = "",
    store: StoreUrl = None,
    progress: ProgressCallback = ignore,
    ended: EndedCallback = ignore,
) -> PlanRun:
    """Run a plan file: measure, check, alert. A failure is a finding, and the rest continues.

    With `every` (hour, night, week) a missed run is a finding too.

    >>> night = assay.run_plan("plan.toml", every="night")
    >>> print(night.status, night.findings)
    """
    plan = plan_file.read(path)
    targets = _run_check(plan, every)
    cases = _cases(plan)
    with run_log.lock_plan(plan.name, store):
        now = datetime.now(UTC)
        late = run_log.problems(run_log.lines(plan.name, store), every, now)
        run_log.write(plan.name, store, PlanRunLine(started=_text(now)))
        return _run_parts(_PlanProgress(plan, cases, targets, store, progress, ended), now, late)


class _PlanProgress:
    """A run of a plan in progress."""

    def __init__(
        self,
        plan: PlanFile,
        cases: Plan | None,
        places: tuple[str, ...],
        home: Home,
        progress: ProgressCallback,
        ended: EndedCallback,
    ) -> None:
        self.plan, self.cases, self.targets, self.home = plan, cases, places, home
        self.progress, self.ended = progress, ended
        self.findings: list[str] = []
        self.failed: list[str] = []
        self.results: dict[str, str] = {}
        self.checked: CheckReport | None = None
        self.uploads: tuple[Upload, ...] = ()

    @property
    def runs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name.partition("/")[0] for name in self.results))

    @property
    def status(self) -> int:
        return 1 if self.failed else (check.status(self.checked) if self.checked else 0)

    def measure(self) -> None:
        for results in (self._run(), self._bench()):
            try:
                for result in results:
                    self._keep(result)
            except AssayError as error:  # the other part and the check still run
                self.failed.append(str(error))

    def check(self) -> None:
        part = self.plan.check
        if part is None:
            return
        options = msgspec.structs.asdict(part)
        try:
            self.checked = check.check(store=self.home, progress=self.progress, **options)
        except AssayError as error:
            self.failed.append(f"the check was not possible: {error}")

    def upload(self) -> None:
        """Upload every run; a failed upload is stored for later and is a finding."""
        if self.plan.sinks is None or not self.runs:
            return
        try:
            sent = upload(*self.runs, sinks=self.plan.sinks, store=self.home)
        except AssayError as error:
            self.failed.append(f"the upload was not possible: {error}")
            return
        self.uploads = sent.uploads
        self.failed += [each.line for each in sent.uploads if not each.arrived]

    def _keep(self, result: Result) -> None:
        self.results[result.id] = result.status
        self.ended(result)
        if result.status in FAILED_STATUSES:
            self.failed.append(f"{result.case.key}: {result.status}: {result.reason}".rstrip(": "))

    def _run(self) -> Iterator[Result]:
        if self.cases is not None:
            for reading in run_cases(self.cases, self.home, self.progress):
                yield reading.result

    def _bench(self) -> Iterator[Result]:
        part = self.plan.bench
        if part is None:
            return
        folder = run_log.folder(self.plan.name, self.home) / "site-packages"
        _set_up(part, folder)
        trials = api.bench(
            *part.methods,
            setting=_setting(part, folder),
            trials=part.trials,
            label=self.plan.label,
            tags=self.plan.tags,
            store=self.home,
        )
        yield from (benched.result for benched in trials)


def _run_parts(night: _PlanProgress, now: datetime, late: list[str]) -> PlanRun:
    complete = False
    try:
        night.measure()
        night.upload()
        night.check()
        complete = True
    finally:
        findings = (*late, *night.failed)
        if not complete:
            findings = (*findings, "it was interrupted")
        ended = _text(datetime.now(UTC))
        line = PlanRunLine(
            started=_text(now),
            ended=ended,
            status=night.status if complete else 130,
            runs=night.runs,
            findings=findings,
        )
        run_log.write(night.plan.name, night.home, line)
    summary = PlanRun(
        plan=night.plan.name,
        started=line.started,
        ended=ended,
        runs=night.runs,
        results=night.results,
        findings=findings,
        checked=night.checked,
        uploads=night.uploads,
        status=night.status,
    )
    return msgspec.structs.replace(summary, alerts=tuple(_send_alerts(summary, night.targets)))


def _send_alerts(night: PlanRun, targets: tuple[str, ...]) -> list[str]:
    from assay.commands.schedule.view import alert_text

    """Not for a check that is undecided: a suspect is often one bad night."""
    if not targets or not (night.findings or night.status not in (0, 6)):
        return []
    return alerting.send_all(targets, alert_text(night), codec.encode(night))


def _run_check(plan: PlanFile, every: str) -> tuple[str, ...]:
    """Check the plan before the first case; returns the targets of alerts."""
    if every:
        parse_time(every, "0:00")
    if plan.check:
        from assay.stats.gate import parse_threshold

        for text in plan.check.fail_on:
            parse_threshold(text)
    if plan.bench:
        parse(plan.bench.methods)
        if plan.bench.trials < 1:
            raise UsageError(
                f"trials of [bench] is {plan.bench.trials}, but has to be 1 or more.",
                hint="trials = 1",
            )
        seconds(plan.bench.timeout)
    if plan.sinks:
        check_sinks(plan.sinks)
    targets = plan_file.alert_places(plan)
    alerting.check_places(targets)
    return targets


def _cases(plan: PlanFile) -> Plan | None:
    part = plan.run
    if part is None:
        return None
    return make_plan(
        *part.cases,
        suite=part.suite,
        backends=part.backends,
        params=part.params,
        options=part.options,
        first=part.first,
        trust=part.trust,
        label=plan.label,
        tags=plan.tags,
        procedure=inputs.procedure(None, plan.procedure),
    )


def _set_up(part: BenchPart, folder: Path) -> None:
    """Data first, then repositories, as PerfZero does it."""
    for download in downloads(",".join(part.downloads), Path(part.data_dir)):
        fetch_if_missing(download)
    for repository in repositories(",".join(part.repositories), folder):
        folder.mkdir(parents=True, exist_ok=True)
        check_out(repository)


def _setting(part: BenchPart, folder: Path) -> BenchSetting:
    return BenchSetting(
        python=part.python,
        python_path=tuple(str(folder / path) for path in part.python_path),
        root_data_dir=part.data_dir,
        constructor_args=part.constructor_args,
        plain=part.plain,
        timeout=seconds(part.timeout),
    )


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
