"""Find the fastest of many contenders: heats of a few warm ones until none is uncertain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from typing import Annotated

import msgspec

from assay.commands.race import ranking as analysis
from assay.commands.race.ranking import Place, Race
from assay.commands.race.state import HeatContext, RaceState, take_heat, take_remote_heat
from assay.core import registry
from assay.core.case_text import CaseLike, parse_case
from assay.core.contracts import Backend, TakesImages, Workload
from assay.core.errors import AssayError, UsageError
from assay.core.executor import Executor
from assay.core.findings import Output, SummarizedResult, Summary, Table
from assay.core.options import (
    Backends,
    Cluster,
    Cold,
    Flag,
    Label,
    Need,
    Seconds,
    Share,
    StoreUrl,
    Trust,
    accept_old_keywords,
)
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import Case, Plan, Procedure, Result, Value
from assay.core.registry import open_store
from assay.core.settings import Home
from assay.core.units import as_seconds, as_share
from assay.measure import plan
from assay.measure.case import HeatEntry
from assay.measure.contenders import check_size
from assay.measure.heat import Heat
from assay.measure.inputs import Axes, axes, backend_names
from assay.measure.machine.environment import safe_tags
from assay.measure.recorder import Recorder, check_resumable, new_run, reopen_run
from assay.measure.remote import executor
from assay.reporting.python_view import States
from assay.stats import paired_ratio
from assay.stats.option_effects import OptionEffect, effects_table, option_effects
from assay.stores.runs import RACE, read_document, tag_number

ExecutorContext = AbstractContextManager[Executor | None]

WARM_UP = 5.0  # seconds of warm-up

# Default axes, as far as a backend has these options.
AXES: dict[str, tuple[Value, ...]] = {
    "precision": ("float32", "bfloat16"),
    "compiler": ("off", "on"),
    "data_format": ("channels_last", "channels_first"),
}


@accept_old_keywords(home="store", minimum="min_effect")
def race(
    workload: CaseLike,
    *,
    mode: Annotated[str, Flag("Training steps or inference: train, infer.")] = "infer",
    backends: Backends = (),
    over: Annotated[
        Axes | None,
        Flag("Option or parameter to vary; repeatable.", "NAME=A,B", read="axes"),
    ] = None,
    budget: Annotated[Seconds, Flag("Total wall-clock time.")] = "5m",
    min_effect: Annotated[Share, Flag("Contenders closer than this are equally good.")] = "2%",
    metric: Annotated[
        str,
        Flag(
            "Metric to rank by: item_time (default); for text time_to_first_token, "
            "time_per_output_token or token_time (over all rows)."
        ),
    ] = "",
    timeout: Annotated[Seconds, Flag("Limit for one process.")] = "10m",
    on: Cluster = "",
    need: Need = None,
    cold: Cold = False,
    trust: Trust = False,
    label: Label = "",
    store: StoreUrl = None,
    progress: ProgressCallback = ignore,
) -> States[Race]:
    """Find the fastest configuration here, by time per item; yields the ranking after each heat.

    `metric` is another time of text generation: time_to_first_token, time_per_output_token, or
    token_time, that of a token over all rows. `trust` lets a `.pt2` file run code. `on` is a Ray
    cluster: all of a heat are on one node of it, which has what they `need`.

    >>> for ranking in assay.race("vgg16", over={"batch_size": [8, 32]}):
    ...     print(ranking.heats, ranking.places[0].key, ranking.ended)
    """
    machines = executor(on, need)  # first: a mistake there is reported before others
    procedure = Procedure(
        budget=as_seconds(budget, "budget", "5m"),
        target=as_share(min_effect, "The smallest effect", "2%"),
        timeout=as_seconds(timeout, "timeout", "10m"),
        cold=cold,
        metric=_metric(metric),
    )
    race_plan = Plan(
        cases=contenders(
            plan.as_case(workload, trust), mode, backend_names(backends), axes(over, "over")
        ),
        procedure=procedure,
        label=label,
        tags=safe_tags({"race": _text(workload)}),
        verb="race",
    )
    return states(_new(race_plan, store, progress, machines))


def resume(
    run: str,
    home: Home = None,
    progress: ProgressCallback = ignore,
    on: str = "",
    need: Mapping[str, str] | None = None,
) -> States[Race]:
    """Continue a race that was interrupted or ran out of time, with the same budget again."""
    machines = executor(on, need)  # first: a mistake there is reported before others
    return states(_resume(check_resumable(run, "race", home), home, progress, machines))


def states(races: Iterator[Race]) -> States[Race]:
    """A race for Python: it prints as its ranking."""
    return States(races, _output, lambda race: msgspec.to_builtins(race.places), _leader)


def load_race(run: str, home: Home = None) -> Race:
    """The stored ranking of a race."""
    with closing(open_store(home)) as store:
        return read_document(store, run, RACE, Race)


def contenders(
    workload: CaseLike, mode: str, backends: Sequence[str], over: Mapping[str, Sequence[Value]]
) -> tuple[Case, ...]:
    """Every combination that could run here; those nearest to the defaults first."""
    base_case = plan.as_case(workload)
    plan.check_duplicates([base_case], backends)
    definition = registry.workload(base_case.workload)
    params = definition.params
    names = plan.backends_of(base_case, backends, [mode], on_request=True)
    cases: dict[str, Case] = {}
    for name in names:
        backend = registry.backend(name)
        axes = {**_default_axes(definition), **_batches(params, mode), "mode": [mode], **over}
        options = {
            axis: _supported_values(
                axis, axes.pop(axis), backend, names if axis in {*over, "mode"} else ()
            )
            for axis in list(axes)
            if axis in backend.options
        }
        options = {axis: values for axis, values in options.items() if values}
        request = {
            axis: axes[axis] for axis in axes if axis in params or axis in _unknown_axes(over)
        }
        text = msgspec.structs.replace(base_case, backend=name)
        for case in plan.expand_cases([text], (), request, options):
            check_size(case)
            if not backend.refuses(case):
                cases[case.key] = case
    if len(cases) < 2:
        raise UsageError(
            f"{len(cases) or 'No'} contender can run here, but a race needs two.",
            hint="Name more with --over, as in --over batch_size=8,32.",
        )
    return tuple(sorted(cases.values(), key=lambda case: case.key.count("=")))


def _output(race: Race) -> Output:
    from assay.commands.race.view import output

    return output(race, read_option_effects(race))


def _leader(race: Race) -> str:
    if not race.ended.startswith("decided"):
        raise AssayError(
            "The race has no winner yet.", hint=f"To continue: assay race --resume {race.run}"
        )
    return race.places[0].key


def _metric(name: str) -> str:
    if name and name not in analysis.METRICS:
        raise UsageError(
            f"A race has no metric named '{name}'.",
            hint=f"It has: {', '.join(analysis.METRICS)}.",
        )
    return "" if name == analysis.METRIC else name


def _text(workload: CaseLike) -> str:
    return workload if isinstance(workload, str) else plan.as_case(workload).workload


def _batches(params: Mapping[str, Value], mode: str) -> dict[str, Sequence[Value]]:
    """Of inference: in training the batch is part of the recipe. A larger one may not fit."""
    usual = int(params.get("batch_size", 0))
    return {"batch_size": (usual, usual // 4)} if usual >= 4 and mode == "infer" else {}


def _default_axes(workload: Workload) -> dict[str, tuple[Value, ...]]:
    """AXES, without the layout for workloads without images."""
    images = not isinstance(workload, TakesImages) or workload.pictures
    return {axis: values for axis, values in AXES.items() if images or axis != "data_format"}


def _supported_values(
    axis: str, values: Sequence[Value], backend: Backend, others: Sequence[str]
) -> list[Value]:
    """The values that this backend supports; values that no backend supports stay, so that the
    plan reports them."""
    known = {choice for name in others for choice in _choices(axis, registry.backend(name))}
    mine = _choices(axis, backend)
    return [
        value for value in values if not mine or value in mine or (others and value not in known)
    ]


def _choices(axis: str, backend: Backend) -> Sequence[Value]:
    return backend.options[axis].choices if axis in backend.options else ()


def _unknown_axes(over: Mapping[str, Sequence[Value]]) -> set[str]:
    """Axes that no backend has as an option: if they are no parameter, the plan says so."""
    known = {axis for name in registry.names("backends") for axis in registry.backend(name).options}
    return set(over) - known


def read_option_effects(ranking: Race) -> Table:
    return effects_table(race_option_effects(ranking))


def race_option_effects(ranking: Race) -> list[OptionEffect]:
    """Contenders of a race that differ in one setting only, compared; from defaults to others.

    Empty if the workload, which knows the defaults, no longer exists.
    """
    ranked = [place for place in ranking.places if place.state in {"in", "out"}]
    try:
        readings = [_reading(place) for place in sorted(ranked, key=lambda p: _natural_key(p.key))]
    except AssayError:
        readings = []
    return option_effects(readings)


def _reading(place: Place) -> SummarizedResult:
    case = plan.resolve(parse_case(place.key))
    return SummarizedResult(
        result=Result(id=place.key, case=case, procedure=Procedure(), status="ok", items=1),
        summary=Summary(quantities={"step_time": place.ratio}),
    )


def _natural_key(key: str) -> list[tuple[str, int]]:
    """Sort key: numbers by size; a default, which a key omits, first."""
    return [(text, int(digits or 0)) for text, digits in re.findall(r"(\D*)(\d*)", key)]


def _new(
    race_plan: Plan, home: Home, progress: ProgressCallback, machines: ExecutorContext
) -> Iterator[Race]:
    with machines as nodes, new_run(race_plan, home, nodes) as run:
        yield from _run_heats(run, RaceState(race_plan, run.name, [], {}), progress)


def _resume(
    name: str, home: Home, progress: ProgressCallback, machines: ExecutorContext
) -> Iterator[Race]:
    with machines as nodes, reopen_run(name, home, nodes) as run:
        wrong = {p.key: p.reason for p in _places(run) if p.state == "wrong"}
        yield from _run_heats(run, RaceState(run.plan, name, _stored_heats(run), wrong), progress)


def _run_heats(run: Recorder, state: RaceState, progress: ProgressCallback) -> Iterator[Race]:
    ranking = state.ranking()
    for ranking, _ in run.record(_heats(run, state, progress)):
        run.save_document(RACE, ranking)
        yield ranking
    yield ranking


def _heats(
    run: Recorder, state: RaceState, progress: ProgressCallback
) -> Iterator[tuple[Race, Sequence[Result]]]:
    """The ranking after each heat, and the results of the heat."""
    while not state.ranking().ended:
        results = state.add(_heat(run, state, progress))
        yield state.ranking(), tuple(results.values())


def _heat(run: Recorder, state: RaceState, progress: ProgressCallback) -> Heat:
    number = len(state.heats) + 1
    warm_up = min(WARM_UP, run.plan.procedure.budget)
    procedure = msgspec.structs.replace(run.plan.procedure, budget=warm_up)
    names = state.next_heat()
    entries = [
        HeatEntry(name, state.cases[name], run.new_case(), state.facts(name), deadline=deadline)
        for name, deadline in zip(names, state.deadlines(len(names)), strict=True)
    ]
    context = HeatContext(run.plan, procedure, state.rules, state.deadline, state.limit)
    if run.elsewhere is None:
        heat = take_heat(entries, context, progress, number)
    else:
        heat = take_remote_heat(run, entries, context, progress, number)
    tags = {"heat": str(number), "order": paired_ratio.INTERLEAVED}
    results = {
        name: msgspec.structs.replace(result, tags=tags) for name, result in heat.results.items()
    }
    return heat._replace(results=results)


def _stored_heats(run: Recorder) -> list[dict[str, Result]]:
    """The heats of earlier sessions."""
    heats: dict[int, dict[str, Result]] = {}
    for result in run.results():
        heats.setdefault(tag_number(result, "heat"), {})[result.case.key] = result
    return [heats[number] for number in sorted(heats)]


def _places(run: Recorder) -> Sequence[Place]:
    """The stored ranking; empty for a race that was killed in its first heat."""
    if run.store.document(run.name, RACE) is None:
        return ()
    return read_document(run.store, run.name, RACE, Race).places
