"""Every case of a plan, one after the other, in fresh workers; each result is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from assay.core import settings
from assay.core.findings import Reading
from assay.core.progress import ProgressCallback
from assay.core.records import Case, Plan, Result
from assay.core.settings import Home
from assay.engine import batch_size, special
from assay.engine.keep import Run, new_run, resumable, resumed_run
from assay.engine.measure_case import measure_case
from assay.stores.folders import CasePlace


class Measured(NamedTuple):
    """A result that is kept, and the folder of its files."""

    reading: Reading
    place: CasePlace


def measured(plan: Plan, home: Home, progress: ProgressCallback) -> Iterator[Measured]:
    """A plan carried out, as a new run."""
    special.check(plan, settings.home(home))
    return _new(plan, home, progress)


def _new(plan: Plan, home: Home, progress: ProgressCallback) -> Iterator[Measured]:
    with new_run(plan, home) as run:
        yield from _cases(run, plan.cases, progress)


def resumed(text: str, verb: str, home: Home, progress: ProgressCallback) -> Iterator[Measured]:
    """What an interrupted run of this verb still lacks, into the same run."""
    return _resumed(resumable(text, verb, home), home, progress)


def _resumed(name: str, home: Home, progress: ProgressCallback) -> Iterator[Measured]:
    with resumed_run(name, home) as run:
        done = {result.case.key for result in run.results()}
        left = [case for case in run.plan.cases if case.key not in done]
        yield from _cases(run, left, progress)


def _cases(run: Run, cases: Iterable[Case], progress: ProgressCallback) -> Iterator[Measured]:
    for place, (reading,) in run.keep(_batches(run, list(cases), progress)):
        yield Measured(reading, place)


def _batches(
    run: Run, cases: Sequence[Case], progress: ProgressCallback
) -> Iterator[tuple[CasePlace, list[Result]]]:
    for number, case in enumerate(cases, 1):
        place, numbered = run.new_case(), _numbered(progress, number, len(cases))
        yield place, [_measure(run.plan, case, place, numbered)]


def _numbered(progress: ProgressCallback, number: int, count: int) -> ProgressCallback:
    return lambda one: progress(msgspec.structs.replace(one, number=number, count=count))


def _measure(plan: Plan, case: Case, place: CasePlace, progress: ProgressCallback) -> Result:
    sized, search = batch_size.settled(case, place.folder, plan.procedure, progress)
    request = special.request(plan, sized, place.folder, progress)
    found = measure_case(sized, plan.procedure, place, progress, request.conduct, request.lacking)
    return msgspec.structs.replace(found, facts={**found.facts, **search, **request.facts})
