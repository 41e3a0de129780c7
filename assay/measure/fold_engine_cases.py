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
from assay.measure import modes
from assay.measure.recorder import Run, new_run, resumable, resumed_run
from assay.measure.remote import Elsewhere, LostUnit, Unit, ending, measure, measure_there
from assay.stores.folders import CasePlace


class Measured(NamedTuple):
    """A result that is kept, and the folder of its files."""

    reading: Reading
    place: CasePlace


def measured(
    plan: Plan, home: Home, progress: ProgressCallback, elsewhere: Elsewhere | None = None
) -> Iterator[Measured]:
    """A plan carried out, as a new run; here, or by machines elsewhere."""
    if elsewhere is None:  # else the data is there, or is not
        modes.check(plan, settings.home(home))
    return _new(plan, home, progress, elsewhere)


def _new(
    plan: Plan, home: Home, progress: ProgressCallback, elsewhere: Elsewhere | None
) -> Iterator[Measured]:
    with new_run(plan, home, elsewhere) as run:
        yield from _cases(run, plan.cases, progress)


def resumed(
    text: str,
    verb: str,
    home: Home,
    progress: ProgressCallback,
    elsewhere: Elsewhere | None = None,
) -> Iterator[Measured]:
    """What an interrupted run of this verb still lacks, into the same run."""
    return _resumed(resumable(text, verb, home), home, progress, elsewhere)


def _resumed(
    name: str, home: Home, progress: ProgressCallback, elsewhere: Elsewhere | None
) -> Iterator[Measured]:
    with resumed_run(name, home, elsewhere) as run:
        done = {result.case.key for result in run.results()}
        left = [case for case in run.plan.cases if case.key not in done]
        yield from _cases(run, left, progress)


def _cases(run: Run, cases: Iterable[Case], progress: ProgressCallback) -> Iterator[Measured]:
    batches = _batches if run.elsewhere is None else _spread
    for place, (reading,) in run.keep(batches(run, list(cases), progress)):
        yield Measured(reading, place)


def _batches(
    run: Run, cases: Sequence[Case], progress: ProgressCallback
) -> Iterator[tuple[CasePlace, list[Result]]]:
    for number, case in enumerate(cases, 1):
        place, numbered = run.new_case(), _numbered(progress, number, len(cases))
        yield place, [measure(run.plan, case, place, numbered)]


def _spread(
    run: Run, cases: Sequence[Case], progress: ProgressCallback
) -> Iterator[tuple[CasePlace, list[Result]]]:
    """As they end, on machines elsewhere. An interrupt is the ending of one that was begun."""
    begun: dict[str, Unit] = {}
    units = (
        begun.setdefault(unit.places[0].id, unit)
        for number, case in enumerate(cases, 1)
        for unit in [_unit(run, case, _numbered(progress, number, len(cases)))]
    )
    assert run.elsewhere is not None
    try:
        for unit, found in run.elsewhere.spread(units):
            del begun[unit.places[0].id]
            if isinstance(found, LostUnit):
                found = ending(unit, run.plan, "crashed", found.reason)
            yield unit.places[0], [found]
    except KeyboardInterrupt as interrupt:
        for unit in list(begun.values())[:1]:
            reason = str(interrupt) or "by Ctrl-C"
            yield unit.places[0], [ending(unit, run.plan, "interrupted", reason)]
        raise


def _unit(run: Run, case: Case, progress: ProgressCallback) -> Unit:
    return Unit(measure_there, (run.plan, case), case, (run.new_case(),), progress)


def _numbered(progress: ProgressCallback, number: int, count: int) -> ProgressCallback:
    return lambda one: progress(msgspec.structs.replace(one, number=number, count=count))
