"""Studies: a workload over a matrix of options, every case in several fresh processes.

Cases are visited in rounds, in an order drawn anew for each, a few of them warm at a time and
sampled in turns. Each visit is a result of its own in the run; tables pool them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay import launch, plan, registry, settings
from assay.analysis.estimates import so_far
from assay.analysis.stopping import FIRST, narrow
from assay.api import Home, summarize
from assay.contracts import Study
from assay.doctor import peaks_for
from assay.errors import EndingError, UsageError
from assay.findings import Reading, Studied
from assay.heat import Entry, run_heat
from assay.records import Case, Plan, Procedure, Query, Result, Samples, Value
from assay.stores import folders
from assay.stores.sql import SqlStore
from assay.visits import Visits
from assay.workloads import studies

ROUNDS = 3  # visits of a case, each in a fresh process: with two an interval says next to nothing
FEWEST_SECONDS = 0.2  # of sampling in one visit

Watch = Callable[..., None]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A study as it was asked for; with its run it can be gone on with."""

    name: str
    study: Study
    plan: Plan
    rounds: int

    @property
    def visits(self) -> int:
        """At most: what does not run once is not visited again."""
        return self.rounds * len(self.plan.cases)


def study(name: str, home: Home = None, watch: Watch | None = None, **asked: Any) -> list[Reading]:  # noqa: ANN401
    """All of a study in one call; what can be asked is in `ask`.

    >>> for reading in assay.study("vgg16", size="small", budget=60):
    ...     print(reading.result.case.key, reading.summary.quantities.get("step_time"))
    """
    results = list(begin(ask(name, **asked), home, watch))
    return kept(results[0].run, home)[1]


def ask(
    name: str,
    extras: Sequence[str] = (),
    backends: Sequence[str] = (),
    size: str = "",
    options: Mapping[str, Value] | None = None,
    budget: float = 600.0,
    rounds: int = ROUNDS,
    timeout: float = 600.0,
    label: str = "",
) -> Asked:
    """The cases of a study, and its budget of sampling shared by those that can run here."""
    made = studies.study(name)
    _check(name, made, extras, size)
    usual = next(iter(made.sizes))
    cases = _cases(made, extras, backends, size or usual, options or {})
    share = budget / rounds / max(1, sum(not _refusal(case) for case in cases))
    asked = Plan(
        cases=cases,
        procedure=Procedure(budget=max(FEWEST_SECONDS, share), timeout=timeout),
        label=label,
        tags={"study": name, "size": size or usual, "rounds": str(rounds)},
    )
    return Asked(name=name, study=made, plan=asked, rounds=rounds)


def begin(asked: Asked, home: Home = None, watch: Watch | None = None) -> Iterator[Result]:
    """Measure all of it; every visit is kept, then yielded."""
    store = SqlStore(settings.home(home))
    return _measured(asked, store, store.new_run(asked.plan), watch or _ignore)


def resume(run: str, home: Home = None, watch: Watch | None = None) -> Iterator[Result]:
    """What a study's run still lacks, into the same run."""
    store = SqlStore(settings.home(home))
    folder = store.runs / store.find_run(run)
    return _measured(_asked_before(folder), store, folder, watch or _ignore)


def kept(run: str, home: Home = None) -> tuple[Asked, list[Reading]]:
    """A study's run as it stands: a reading for each case, over all its processes."""
    from assay.analysis.pooling import pooled

    store = SqlStore(settings.home(home))
    try:
        folder = store.runs / store.find_run(run)
        asked = _asked_before(folder)
        found = {r.case.key: r for r in pooled(store.results(Query(ids=(folder.name,))))}
    finally:
        store.close()
    ordered = [found[case.key] for case in asked.plan.cases if case.key in found]
    return asked, [Reading(result=result, summary=summarize(result)) for result in ordered]


def findings(readings: Sequence[Reading]) -> Studied:
    """What differs, the floor, and what each option bought."""
    from assay.analysis import fairness, options, roofline

    floors = (roofline.floor(reading.result) for reading in readings)
    bought = options.bought(readings)
    return Studied(
        unlike=tuple(fairness.differences(reading.result for reading in readings)),
        floor=next(filter(None, floors), None),
        bought=options.bought_table(bought) if bought else None,
    )


def _measured(asked: Asked, store: SqlStore, folder: Path, watch: Watch) -> Iterator[Result]:
    peaks = peaks_for(store.runs.parent)
    done = list(store.results(Query(ids=(folder.name,))))
    visits = Visits(asked.plan.cases, asked.rounds, folder.name, done)
    try:
        with folders.locked(folder):
            while group := visits.next_group():
                for found in _visited(group, visits, folder, asked.plan.procedure, watch):
                    machine = {**found.environment.machine, **peaks}
                    result = msgspec.structs.replace(
                        found,
                        label=asked.plan.label,
                        tags=asked.plan.tags,
                        environment=msgspec.structs.replace(found.environment, machine=machine),
                    )
                    visits.ended(result)
                    store.append(result)
                    yield result
                visits.stop_if_interrupted()
    finally:
        store.close()


def _visited(
    group: Sequence[Case], visits: Visits, folder: Path, procedure: Procedure, watch: Watch
) -> Iterator[Result]:
    """Several take turns; who cannot, for want of room or of company, comes again alone."""
    runnable_first = sorted(group, key=lambda case: bool(_refusal(case)))  # it shows the memory
    entries = [_entry(case, folder) for case in runnable_first]
    if len(entries) == 1:
        (one,) = entries
        yield launch.measure_case(one.case, procedure, one.result_id, one.folder, watch)
        return
    heat = run_heat(entries, procedure, watch, _Enough(procedure), seed=visits.count)
    for entry in entries:
        result = heat.results[entry.name]
        lonely = result.status == "ok" and not result.values("step_time")
        if lonely or entry.name in heat.apart:
            visits.not_taken(entry.case)
        else:
            yield result


class _Enough:
    """Turns go on until everyone has its share of the budget, or is known well enough."""

    def __init__(self, procedure: Procedure) -> None:
        self._procedure = procedure

    def __call__(self, turns: Mapping[str, Sequence[Samples]], opening: float) -> bool:
        """True while more turns are wanted."""
        return any(self._wants(parts) for parts in turns.values())

    def _wants(self, parts: Sequence[Samples]) -> bool:
        values = [value for part in parts for value in part.values]
        spent = sum(sum(part.values) * part.steps for part in parts)
        if spent >= self._procedure.budget:
            return False
        return len(values) < FIRST or not narrow(so_far(values), self._procedure.target)


def _cases(
    study: Study,
    extras: Sequence[str],
    backends: Sequence[str],
    size: str,
    options: Mapping[str, Value],
) -> tuple[Case, ...]:
    axes: dict[str, Sequence[Value]] = dict([study.rows, study.columns])
    axes |= {name: (value,) for name, value in options.items()}
    names = backends or [
        name
        for name in plan.opening(registry.workload(study.workload))
        if axes.keys() <= registry.backend(name).options.keys()  # else it has nothing to choose
    ]
    found: list[Case] = []
    for variant in study.variants:
        if not variant.extra or variant.extra in extras:
            params = {name: (v,) for name, v in {**study.sizes[size], **variant.params}.items()}
            found += plan.cases([study.workload], names, params, axes)
    return tuple(found)


def _check(name: str, study: Study, extras: Sequence[str], size: str) -> None:
    known = {variant.extra for variant in study.variants} - {""}
    for extra in extras:
        if extra not in known:
            raise UsageError(
                f"The study {name} has no {extra}.", hint=f"It has: {', '.join(known) or 'none'}."
            )
    if size and size not in study.sizes:
        raise UsageError(
            f"The study {name} has no size '{size}'.", hint=f"It has: {', '.join(study.sizes)}."
        )


def _refusal(case: Case) -> str:
    try:
        launch.refuse(case)
    except EndingError as error:
        return error.reason
    return ""


def _asked_before(folder: Path) -> Asked:
    made = folders.read_plan(folder)
    if "study" not in made.tags:
        raise UsageError(
            f"Run {folder.name} is no study.", hint=f"Try: assay run --resume {folder.name}"
        )
    return Asked(
        name=made.tags["study"],
        study=studies.study(made.tags["study"]),
        plan=made,
        rounds=int(made.tags["rounds"]),
    )


def _entry(case: Case, folder: Path) -> Entry:
    place = folders.new_case(folder)
    return Entry(case.key, case, f"{folder.name}/{place.name}", place)


def _ignore(*_: object) -> None:
    pass
