"""Store the results of a run as they are measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from assay.core import codec, settings
from assay.core.contracts import Store
from assay.core.errors import StoreError, UsageError
from assay.core.executor import CaseDir, Executor, NodeLost, RemoteTask
from assay.core.findings import SummarizedResult
from assay.core.loading import check_not_loading
from assay.core.progress import ProgressCallback
from assay.core.records import Case, Plan, Query, Result
from assay.core.redaction import safe_message, safe_text, safe_values
from assay.core.registry import open_store
from assay.core.settings import Home
from assay.measure import modes
from assay.measure.case import measure
from assay.measure.machine import environment
from assay.measure.machine.doctor import peaks_for
from assay.measure.plausible import refuse_impossible
from assay.measure.program import defer_signals
from assay.measure.quick import TimeLimit
from assay.measure.remote import THIS_MACHINE, Machines, failed_result, measure_there
from assay.measure.shared_cache import shared_cache_dir
from assay.measure.source import with_source
from assay.stats import stored_summary
from assay.stores import folders
from assay.stores.importing import IMPORTED
from assay.stores.runs import can_resume, how_to_resume, lock_run, verb_of

A = TypeVar("A")


class Recorder:
    """Stores the results of a run that is being measured; the run is locked."""

    def __init__(
        self, plan: Plan, store: Store, folder: Path, elsewhere: Executor | None = None
    ) -> None:
        self.plan, self.name, self.store = plan, folder.name, store
        self.elsewhere = elsewhere  # a cluster that measures for this machine
        self._folder = folder
        self._peaks = peaks_for(store.home) if elsewhere is None else {}

    def new_case(self) -> CaseDir:
        return folders.new_case(self._folder)

    def results(self) -> list[Result]:
        """Stored before, except interrupted ones."""
        results = self.store.results(Query(ids=(self.name,)))
        return [result for result in results if result.status != "interrupted"]

    def record(
        self, batches: Iterable[tuple[A, Sequence[Result]]]
    ) -> Iterator[tuple[A, list[SummarizedResult]]]:
        """Store each batch of results before it is yielded; an interrupted one is the last."""
        for what, results in batches:
            with defer_signals():  # a batch is stored completely
                readings = self._save_all(results)
            yield what, readings
            for result in results:
                if result.status == "interrupted":
                    raise KeyboardInterrupt(result.reason)

    def save_document(self, name: str, document: object) -> None:
        self.store.keep_document(self.name, name, codec.encode(document, indent=2))

    def _save_all(self, results: Sequence[Result]) -> list[SummarizedResult]:
        """Try each, then raise the errors."""
        readings: list[SummarizedResult] = []
        problems: list[StoreError] = []
        for result in results:
            try:
                readings.append(self._save(result))
            except StoreError as error:
                problems.append(error)
        if problems:
            hints = dict.fromkeys(problem.hint for problem in problems)
            raise StoreError(str(problems[0]), hint=" ".join(hints))
        return readings

    def _save(self, result: Result) -> SummarizedResult:
        """With what the plan and the doctor know of it."""
        machine = {**result.environment.machine, **self._peaks}
        env = msgspec.structs.replace(result.environment, machine=machine)
        if self.elsewhere:  # the command and its checkout are those of this machine
            here = environment.current_environment()
            env = msgspec.structs.replace(env, command=here.command, git=env.git or here.git)
        whole = msgspec.structs.replace(
            result,
            case=msgspec.structs.replace(result.case, trust=msgspec.UNSET),  # the plan has it
            reason=safe_message(result.reason),
            label=self.plan.label,
            tags={**self.plan.tags, **result.tags},
            environment=env,
        )
        whole = whole if self.elsewhere else with_source(refuse_impossible(whole), self.store)
        self.store.append(whole)
        return stored_summary.read(self.store, whole)


@contextmanager
def new_run(plan: Plan, home: Home, elsewhere: Executor | None = None) -> Iterator[Recorder]:
    check_not_loading()
    plan = msgspec.structs.replace(plan, label=safe_text(plan.label), tags=safe_values(plan.tags))
    with closing(open_store(home)) as store:
        folder = store.new_run(plan)
        with lock_run(store, folder.name), shared_cache_dir(folder, plan):
            yield Recorder(plan, store, folder, elsewhere)


@contextmanager
def reopen_run(name: str, home: Home, elsewhere: Executor | None = None) -> Iterator[Recorder]:
    """Resume a run by its full name, which `resumable` returns."""
    with closing(open_store(home)) as store:
        folder = store.folder(name)
        plan = store.plan(name)
        with lock_run(store, folder.name), shared_cache_dir(folder, plan):
            yield Recorder(plan, store, folder, elsewhere)


def check_resumable(text: str, verb: str, home: Home) -> str:
    """The full name of a run, checked: this command made it, and on this machine. An imported run
    names files and commands that would be run here unseen."""
    name = find_run_of_command(text, verb, home)
    with closing(open_store(home)) as store:
        if store.document(name, IMPORTED) is None:
            return name
    raise UsageError(
        f"Run {name} was imported and cannot be resumed here.",
        hint="To measure it on this machine, start it again.",
    )


def is_trusted(result: Result, store: Store) -> bool:
    """Whether a user of this store let the case run code. The trust of an imported run was given by
    another user, who may be anybody."""
    if store.document(result.run, IMPORTED) is not None:
        return False
    try:
        cases = store.plan(result.run).cases
    except StoreError:  # no plan, or an unreadable one
        return False
    return any(bool(case.trust) and case.key == result.case.key for case in cases)


def find_run_of_command(text: str, verb: str, home: Home) -> str:
    """The full name of a run that this command made."""
    with closing(open_store(home)) as store:
        name = store.find_run(text)
        made_by = verb_of(store, name)
        if made_by != verb:
            raise UsageError(
                f"Run {name} was made by assay {made_by}, so assay {verb} cannot resume it.",
                hint=how_to_resume(store, name),
            )
        if not can_resume(store, name):
            raise UsageError(
                f"Run {name} did not store its options, so it cannot be resumed.",
                hint=how_to_resume(store, name),
            )
        return name


def run_cases(
    plan: Plan,
    home: Home,
    progress: ProgressCallback,
    machines: Machines = THIS_MACHINE,
    limit: TimeLimit | None = None,
) -> Iterator[SummarizedResult]:
    """Measure every case of a plan, or those for which the limit leaves time, as a new run."""
    if machines is THIS_MACHINE:  # else the data has to be on the cluster
        modes.check(plan, settings.home(home))
    return _run(plan, home, progress, machines, limit)


def _run(
    plan: Plan,
    home: Home,
    progress: ProgressCallback,
    machines: Machines,
    limit: TimeLimit | None,
) -> Iterator[SummarizedResult]:
    with machines as elsewhere, new_run(plan, home, elsewhere) as run:
        yield from _run_batches(run, plan.cases, progress, limit)


def resume_cases(
    text: str, verb: str, home: Home, progress: ProgressCallback, machines: Machines = THIS_MACHINE
) -> Iterator[SummarizedResult]:
    """Measure the missing cases of an interrupted run of this command, into the same run."""
    return _resume(check_resumable(text, verb, home), home, progress, machines)


def _resume(
    name: str, home: Home, progress: ProgressCallback, machines: Machines
) -> Iterator[SummarizedResult]:
    with machines as elsewhere, reopen_run(name, home, elsewhere) as run:
        done = {result.case.key for result in run.results()}
        left = [case for case in run.plan.cases if case.key not in done]
        yield from _run_batches(run, left, progress)


def _run_batches(
    run: Recorder,
    cases: Sequence[Case],
    progress: ProgressCallback,
    limit: TimeLimit | None = None,
) -> Iterator[SummarizedResult]:
    batches = (
        _batches(run, cases, progress, limit)
        if run.elsewhere is None
        else _remote_batches(run, cases, progress)
    )
    for _, readings in run.record(batches):
        yield from readings


def _batches(
    run: Recorder, cases: Sequence[Case], progress: ProgressCallback, limit: TimeLimit | None
) -> Iterator[tuple[CaseDir, list[Result]]]:
    for number, case in enumerate(limit.within(cases) if limit else cases, 1):
        case_dir, numbered = run.new_case(), _number_progress(progress, number, len(cases))
        yield case_dir, [measure(run.plan, case, case_dir, numbered)]


def _remote_batches(
    run: Recorder, cases: Sequence[Case], progress: ProgressCallback
) -> Iterator[tuple[CaseDir, list[Result]]]:
    """On a cluster, as they end. An interrupt is the result of the first that was begun."""
    started: dict[str, RemoteTask] = {}
    units = (
        started.setdefault(unit.case_dirs[0].id, unit)
        for number, case in enumerate(cases, 1)
        for unit in [_unit(run, case, _number_progress(progress, number, len(cases)))]
    )
    assert run.elsewhere is not None
    try:
        for unit, result in run.elsewhere.submit(units):
            del started[unit.case_dirs[0].id]
            if isinstance(result, NodeLost):
                result = failed_result(unit, run.plan, "crashed", result.reason)
            yield unit.case_dirs[0], [result]
    except KeyboardInterrupt as interrupt:
        for unit in list(started.values())[:1]:
            reason = str(interrupt) or "by Ctrl-C"
            yield unit.case_dirs[0], [failed_result(unit, run.plan, "interrupted", reason)]
        raise


def _unit(run: Recorder, case: Case, progress: ProgressCallback) -> RemoteTask:
    return RemoteTask(measure_there, (run.plan, case), case, (run.new_case(),), progress)


def _number_progress(progress: ProgressCallback, number: int, count: int) -> ProgressCallback:
    return lambda seen: progress(msgspec.structs.replace(seen, number=number, count=count))
