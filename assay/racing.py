"""Which of many is fastest: heats of a few warm contenders, until nobody is in doubt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from assay import codec, environment, plan, registry, settings
from assay.analysis import compare
from assay.analysis.options import bought, bought_table
from assay.api import summary_of
from assay.contenders import check_size
from assay.contracts import Backend
from assay.course import Course, Enough
from assay.errors import UsageError
from assay.findings import Race, Reading, Summary, Table
from assay.heat import Entry, Heat, run_heat
from assay.records import Case, Plan, Procedure, Query, Result, Value
from assay.schedule import Watch
from assay.stores import folders
from assay.stores.sql import SqlStore

MINIMUM = 0.02
WARM_UP = 5.0  # seconds that a warm-up is reckoned from

# What is tried where nothing else is asked for, of the options a backend has.
AXES: dict[str, tuple[Value, ...]] = {
    "precision": ("float32", "bfloat16"),
    "compiler": ("off", "on"),
    "data_format": ("channels_last", "channels_first"),
}


def race(
    workload: str,
    *,
    mode: str = "infer",
    backends: Sequence[str] = (),
    over: Mapping[str, Sequence[Value]] | None = None,
    budget: float = 300.0,
    minimum: float = MINIMUM,
    timeout: float = 600.0,
    label: str = "",
    home: str | Path | None = None,
    watch: Watch | None = None,
) -> Iterator[Race]:
    """The fastest configuration here, by time per item; the standing is yielded after each heat.

    >>> for found in assay.race("vgg16", over={"batch_size": [8, 32]}):
    ...     print(found.heats, found.places[0].key, found.ended)
    """
    _check(budget, minimum)
    cases = contenders(workload, mode, backends, over or {})
    asked = Plan(
        cases=cases,
        procedure=Procedure(budget=budget, target=minimum, timeout=timeout),
        label=label,
        tags=environment.safe_tags({"race": workload}),
    )
    store = SqlStore(settings.home(home))
    return _raced(asked, store, store.new_run(asked), watch or _ignore)


def resume(run: str, home: str | Path | None = None, watch: Watch | None = None) -> Iterator[Race]:
    """Go on with a race that was interrupted, or ran out of time, for its budget once more."""
    store = SqlStore(settings.home(home))
    folder = store.runs / store.find_run(run)
    if not (folder / folders.RACE).is_file():
        raise UsageError(
            f"Run {folder.name} is no race.", hint="assay run --resume goes on with it."
        )
    return _raced(folders.read_plan(folder), store, folder, watch or _ignore)


def kept(run: str, home: str | Path | None = None) -> Race:
    """How a race stands."""
    store = SqlStore(settings.home(home))
    try:
        return _read(store.runs / store.find_run(run))
    finally:
        store.close()


def contenders(
    workload: str, mode: str, backends: Sequence[str], over: Mapping[str, Sequence[Value]]
) -> tuple[Case, ...]:
    """Every combination that could run here; those nearest to the defaults first."""
    given = plan.parse_case(workload)
    plan.check_named_once([given], backends)
    params = registry.workload(given.workload).params
    names = plan.backends_of(given, backends, [mode])
    found: dict[str, Case] = {}
    for name in names:
        backend = registry.backend(name)
        axes = {**AXES, **_batches(params, mode), "mode": [mode], **over}
        options = {
            axis: _offered(axis, axes.pop(axis), backend, names)
            for axis in list(axes)
            if axis in backend.options
        }
        asked = {axis: axes[axis] for axis in axes if axis in params or axis in _mistaken(over)}
        text = msgspec.structs.replace(given, backend=name)
        for case in plan.cases([text], (), asked, options):
            check_size(case)
            if not backend.refuses(case):
                found[case.key] = case
    if len(found) < 2:
        raise UsageError(
            f"{len(found)} contender can run here, but a race needs two.",
            hint="Name more with --over, as in --over batch_size=8,32.",
        )
    return tuple(sorted(found.values(), key=lambda case: case.key.count("=")))


def _batches(params: Mapping[str, Value], mode: str) -> dict[str, Sequence[Value]]:
    """Of inference: in training the batch is part of the recipe. A larger one may not fit."""
    usual = int(params.get("batch_size", 0))
    return {"batch_size": (usual, usual // 4)} if usual >= 4 and mode == "infer" else {}


def _offered(
    axis: str, values: Sequence[Value], backend: Backend, names: Sequence[str]
) -> list[Value]:
    """What this backend can do; a value that none of them can is left, for the plan to name."""
    known = {choice for name in names for choice in _choices(axis, registry.backend(name))}
    mine = _choices(axis, backend)
    return [value for value in values if not mine or value in mine or value not in known]


def _choices(axis: str, backend: Backend) -> Sequence[Value]:
    return backend.options[axis].choices if axis in backend.options else ()


def _check(budget: float, minimum: float) -> None:
    """Here, for the defaults of other commands are not those of a race."""
    if budget <= 0:
        raise UsageError(
            f"budget is {budget:g}, but has to be more than 0 s.", "5m is the default."
        )
    if not 0 < minimum < 1:
        raise UsageError(
            f"The smallest effect is {minimum:g}, but has to be between 0 and 1.",
            hint="--min-effect 2% is the default.",
        )


def _mistaken(over: Mapping[str, Sequence[Value]]) -> set[str]:
    """Axes that no backend has as an option: if they are no parameter, the plan says so."""
    known = {axis for name in registry.names("backends") for axis in registry.backend(name).options}
    return set(over) - known


def what_options_bought(found: Race) -> Table:
    """Contenders of a race that differ in one setting only, compared; from defaults to others."""
    return bought_table(
        bought(
            [
                Reading(
                    result=Result(
                        id=place.key,
                        case=plan.resolve(plan.parse_case(place.key)),
                        procedure=Procedure(),
                        status="ok",
                        items=1,
                    ),
                    summary=Summary(quantities={"step_time": place.ratio}),
                )
                for place in sorted(found.places, key=lambda place: _natural(place.key))
                if place.state in {"in", "out"}
            ]
        )
    )


def _natural(key: str) -> list[tuple[str, int]]:
    """Numbers by their size; a default, which a key leaves out, before the rest."""
    return [(text, int(digits or 0)) for text, digits in re.findall(r"(\D*)(\d*)", key)]


def _raced(asked: Plan, store: SqlStore, run: Path, watch: Watch) -> Iterator[Race]:
    course = Course(asked, run.name, _earlier(store, run), _wrong(run))
    warm_up = min(WARM_UP, asked.procedure.budget)
    procedure = msgspec.structs.replace(asked.procedure, budget=warm_up)
    found = course.standing()
    try:
        with folders.locked(run):
            while not found.ended:
                heat = _heat(course, procedure, run, watch)
                for result in course.add(heat).values():
                    whole = msgspec.structs.replace(result, label=asked.label)
                    store.append(whole)
                    summary_of(whole, store)
                found = course.standing()
                folders.write_whole(run / folders.RACE, codec.encode(found, indent=2))
                yield found
                if any(result.status == "interrupted" for result in heat.results.values()):
                    raise KeyboardInterrupt
            yield found
    finally:
        store.close()


def _heat(course: Course, procedure: Procedure, run: Path, watch: Watch) -> Heat:
    number = len(course.heats) + 1
    entries = []
    for name in course.next_heat():
        place = folders.new_case(run)
        entries.append(Entry(name, course.cases[name], f"{run.name}/{place.name}", place))
    heat = run_heat(entries, procedure, watch, Enough(course.rules, course.deadline), seed=number)
    tags = {"heat": str(number), "order": compare.IN_TURNS}
    results = {
        name: msgspec.structs.replace(result, tags=tags) for name, result in heat.results.items()
    }
    return heat._replace(results=results)


def _earlier(store: SqlStore, run: Path) -> list[dict[str, Result]]:
    """The heats of a race that was begun before."""
    heats: dict[int, dict[str, Result]] = {}
    for result in store.results(Query(ids=(run.name,))):
        if result.status != "interrupted":
            heats.setdefault(int(result.tags["heat"]), {})[result.case.key] = result
    return [heats[number] for number in sorted(heats)]


def _wrong(run: Path) -> dict[str, str]:
    """Who gave wrong outputs before."""
    if not (run / folders.RACE).is_file():
        return {}
    return {place.key: place.reason for place in _read(run).places if place.state == "wrong"}


def _read(run: Path) -> Race:
    file = run / folders.RACE
    return codec.decode(file.read_bytes(), Race, str(file))


def _ignore(*_: object) -> None:
    pass
