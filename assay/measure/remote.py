"""Work that another machine does: what is sent there, and what comes back as if it were ours."""

from __future__ import annotations

import itertools
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from assay.commands.ab import pairs
from assay.commands.ab.pairs import NextPair, PairResults, PairSetting
from assay.commands.race.state import HeatKeepGoing
from assay.core.errors import AssayError, NotPossibleError
from assay.core.executor import CasePlace, LostUnit, Unit
from assay.core.progress import ProgressCallback
from assay.core.records import Case, Plan, Procedure, Result, Status
from assay.core.settings import home
from assay.measure import heat as turns
from assay.measure.case import HeatEntry, measure
from assay.measure.heat import Heat
from assay.measure.machine.doctor import peaks_for
from assay.measure.recorder import Run
from assay.measure.result_builder import blank
from assay.measure.shared_cache import beside_cases
from assay.stats import paired_ratio


def measure_there(
    places: Sequence[CasePlace], progress: ProgressCallback, plan: Plan, case: Case
) -> Result:
    """`measure` on a node: what cannot be there is an ending of this case, not of the run."""
    try:
        found = measure(plan, case, places[0], progress)
    except AssayError as error:
        skipped = blank(case, plan.procedure, places[0])
        reason = _not_there(case) or f"{error} {error.hint}"
        found = msgspec.structs.replace(skipped, status="skipped", reason=reason)
    return with_peaks(found)


def _not_there(case: Case) -> str:
    """Of a model or file of one's own, which is not sent."""
    file = case.workload.partition(":")[0]
    if os.sep not in file or Path(file).exists():
        return ""
    return (
        f"{file} is not on {platform.node()}: a model or file of your own has to lie at the same "
        "path on every node, such as on a disk that they share"
    )


def with_peaks(result: Result) -> Result:
    """What the doctor of this machine knows of it."""
    machine = {**result.environment.machine, **peaks_for(home())}
    here = msgspec.structs.replace(result.environment, machine=machine)
    return msgspec.structs.replace(result, environment=here)


def ending(unit: Unit, plan: Plan, status: Status, reason: str) -> Result:
    """Of a case of which nothing came back: its environment is that of this machine."""
    made = blank(unit.case, plan.procedure, unit.places[0])
    return msgspec.structs.replace(made, status=status, reason=reason)


class PairRequest(NamedTuple):
    """A pair as it is sent: its deadline is in seconds from now, for clocks differ."""

    wanted: NextPair
    plan: Plan
    procedure: Procedure
    minimum: float
    left: float


class HeatSetting(NamedTuple):
    """How a heat goes on; times by the clock of this machine."""

    procedure: Procedure
    rules: paired_ratio.Terms
    deadline: float
    deadlines: Sequence[float]  # by which each has to be warm


class HeatRequest(NamedTuple):
    """A heat as it is sent: times in seconds from now."""

    entries: Sequence[HeatEntry]  # with places at home
    plan: Plan
    setting: HeatSetting
    seed: int


def take_pair(run: Run, wanted: NextPair, setting: PairSetting) -> PairResults:
    """As `pair.take_pair`, on a node."""
    left = setting.deadline - time.monotonic()
    request = PairRequest(wanted, run.plan, setting.procedure, setting.minimum, left)
    places = (run.new_case(), run.new_case())
    unit = Unit(take_pair_there, (request,), wanted.pair[0].case, places, setting.progress)
    found: PairResults = _only(run, unit)
    return found


def run_heat(
    run: Run,
    entries: Sequence[HeatEntry],
    setting: HeatSetting,
    progress: ProgressCallback,
    seed: int,
) -> Heat:
    """As `turns.run_heat`, on a node."""
    request = HeatRequest(entries, run.plan, _shifted(setting, -time.monotonic()), seed)
    places = tuple(entry.place for entry in entries)
    unit = Unit(run_heat_there, (request,), entries[0].case, places, progress)
    found: Heat = _only(run, unit)
    return found


def _shifted(setting: HeatSetting, by: float) -> HeatSetting:
    at = [one + by for one in setting.deadlines]
    return setting._replace(deadline=setting.deadline + by, deadlines=at)


def _only(run: Run, unit: Unit) -> Any:  # noqa: ANN401
    assert run.elsewhere is not None
    ((_, found),) = run.elsewhere.spread(iter([unit]))
    if isinstance(found, LostUnit):
        raise NotPossibleError(
            f"A pair or heat was {found.reason}.",
            hint="What was measured is kept; go on with --resume last.",
        )
    return found


class _Places:
    """In place of a run, on a node; who has another try has the same place again."""

    def __init__(self, places: Sequence[CasePlace]) -> None:
        self._left = itertools.cycle(places)

    def new_case(self) -> CasePlace:
        return next(self._left)


def take_pair_there(
    places: Sequence[CasePlace], progress: ProgressCallback, request: PairRequest
) -> PairResults:
    """On a node."""
    deadline = time.monotonic() + request.left
    setting = PairSetting(_Places(places), request.procedure, request.minimum, deadline, progress)
    with beside_cases(places[0].folder.parent, request.plan):
        found = pairs.take_pair(request.wanted, setting)
    first, second = (with_peaks(result) for result in found.results)
    return found._replace(results=(first, second))


def run_heat_there(
    places: Sequence[CasePlace], progress: ProgressCallback, request: HeatRequest
) -> Heat:
    """On a node."""
    setting = _shifted(request.setting, time.monotonic())
    entries = [
        entry._replace(place=place) for entry, place in zip(request.entries, places, strict=True)
    ]
    more = HeatKeepGoing(setting.rules, setting.deadline)
    with beside_cases(places[0].folder.parent, request.plan):
        heat = turns.run_heat(
            entries,
            setting.procedure,
            progress,
            more,
            seed=request.seed,
            deadlines=setting.deadlines,
        )
    return heat._replace(results={name: with_peaks(one) for name, one in heat.results.items()})
