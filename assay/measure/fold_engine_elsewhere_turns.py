"""Pairs and heats on other machines: the contenders of each are on one node."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from assay.commands.ab import pairs
from assay.commands.ab.pairs import NextPair, PairResults, PairSetting
from assay.commands.race.state import HeatKeepGoing
from assay.core.errors import NotPossibleError
from assay.core.progress import ProgressCallback
from assay.core.records import Plan, Procedure
from assay.measure import heat as turns
from assay.measure.fold_engine_racer import HeatEntry
from assay.measure.heat import Heat
from assay.measure.recorder import Run
from assay.measure.remote import LostUnit, Unit, with_peaks
from assay.measure.shared_cache import beside_cases
from assay.stats import paired_ratio
from assay.stores.folders import CasePlace


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
