"""The whole product as functions; the command line and the pages are other faces of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from assay import settings
from assay.errors import StoreError, UsageError
from assay.findings import Reading, Summary, Unlikeness
from assay.records import Case, Environment, Plan, Procedure, Query, Result, Value
from assay.stores import folders
from assay.stores.sql import SqlStore

if TYPE_CHECKING:
    from assay.checkup import Checkup
    from assay.datasets.library import Held

Home = str | Path | None
Axes = Mapping[str, Sequence[Value]]
Tell = Callable[[str], None]
Series = Literal["process", "samples"]

# Of analysis.summary; here so that showing a kept summary need not load numpy.
ANALYSIS = 4


def run(
    *cases: str | Case,
    suite: str = "",
    backends: Sequence[str] = (),
    params: Axes | None = None,
    options: Axes | None = None,
    procedure: Procedure = Procedure(),  # noqa: B008 (frozen)
    label: str = "",
    tags: Mapping[str, str] | None = None,
    home: Home = None,
    watch: Callable[..., None] | None = None,
    first: int = 0,
) -> Iterator[Result]:
    """Measure every combination asked for; each result is kept, then yielded.

    A suite of accuracies is evaluated instead, on the first so many examples or on all.

    >>> for result in assay.run("mnist-mlp", backends=["keras-jax"]):
    ...     print(result.case.key, assay.summarize(result).quantities["step_time"])
    """
    from assay import environment, evaluating, plan
    from assay.workloads import suites

    named = suites.suite(suite) if suite else ()
    found = plan.cases((*named, *cases), backends, params, options)
    evaluation = evaluating.of_suite(suite, first)
    asked = Plan(
        cases=evaluating.prepared(found, options or ()) if evaluation else found,
        procedure=procedure,
        evaluation=evaluation,
        label=label,
        tags=environment.safe_tags(dict(tags or {})),
    )
    return measured(asked, home, watch)


def measured(asked: Plan, home: Home, watch: Callable[..., None] | None) -> Iterator[Result]:
    """A plan carried out, as a new run."""
    from assay import evaluating

    evaluating.check(asked, settings.home(home))
    store = SqlStore(settings.home(home))
    return _measured(asked, asked.cases, store, store.new_run(asked), watch)


def resume(
    run: str, home: Home = None, watch: Callable[..., None] | None = None
) -> Iterator[Result]:
    """Measure what an interrupted run still lacks, into the same run."""
    store = SqlStore(settings.home(home))
    folder = store.runs / store.find_run(run)
    asked = folders.read_plan(folder)
    if asked.verb != "run":
        raise UsageError(
            f"{folder.name} was made by assay {asked.verb}, but only assay run goes on with a run.",
            hint=f"Start it again with assay {asked.verb}.",
        )
    found = store.results(Query(ids=(folder.name,)))
    done = {result.case.key for result in found if result.status != "interrupted"}
    left = [case for case in asked.cases if case.key not in done]
    return _measured(asked, left, store, folder, watch)


def readings(query: Query = Query(), home: Home = None, tell: Tell | None = None) -> list[Reading]:  # noqa: B008
    """Kept results with their summaries, oldest first; what cannot be read is told."""
    store = SqlStore(settings.home(home))
    try:
        found = [Reading(result=r, summary=summary_of(r, store)) for r in store.results(query)]
        for problem in dict.fromkeys(store.problems):
            if tell:
                tell(problem)
        return _lasting(found)
    finally:
        store.close()


def decided_by(run: str, home: Home = None) -> Literal["", "ab", "race", "study"]:
    """The verb whose verdict a run holds, beside its results; "": it holds results only."""
    store = SqlStore(settings.home(home))
    try:
        folder = store.runs / store.find_run(run)
    finally:
        store.close()
    if (folder / folders.COMPARISON).is_file():
        return "ab"
    if (folder / folders.RACE).is_file():
        return "race"
    with suppress(StoreError):  # results can be shown without their plan
        return "study" if {"study", "rounds"} <= folders.read_plan(folder).tags.keys() else ""
    return ""


def summarize(result: Result) -> Summary:
    """Everything one may quote from a result, with intervals and doubts."""
    from assay.analysis.summary import summarize

    return summarize(result)


def fairness(results: Iterable[Result]) -> list[Unlikeness]:
    """What differs between contenders of one workload; what nobody asked for is unfair.

    >>> [one.text for one in assay.fairness(assay.run("vgg16")) if one.unfair]
    """
    from assay.analysis.fairness import differences

    return differences(results)


def doctor(quick: bool = False, home: Home = None, tell: Tell | None = None) -> Checkup:
    """This machine: its noise now, what would help, its measured peaks, which are kept."""
    from assay.doctor import examine

    return examine(settings.home(home), quick, tell or _ignore)


def plot(what: str, series: Series, output: str | Path, home: Home = None) -> Path:
    """Draw results' samples, or what the monitors saw of one: PNG, SVG or PDF by the name.

    `what` is an id, or for the process series the path of a `process_info.log`.
    """
    from assay.views import figures

    path = figures.checked(Path(output))
    if series == "process" and Path(what).is_file():
        figures.process(series_of([Path(what)]), what, path)
        return path
    store = SqlStore(settings.home(home))
    try:
        results = list(store.results(Query(ids=(what,))))
    finally:
        store.close()
    if series == "samples":
        figures.samples(results, path)
    else:
        result = _only(results, what)
        logs = sorted((store.runs / result.id).rglob("process_info.log"))
        figures.process(series_of(logs), f"{result.case.key}  ({result.id})", path)
    return path


def series_of(logs: Sequence[Path]) -> list[dict[str, float]]:
    """The lines of process logs; those that were cut short are left out."""
    from assay.monitors._series import read

    return [row for log in logs for row in read(log)]


def adopt(*run_folders: str | Path, home: Home = None) -> list[str]:
    """Copy run folders from elsewhere into the store; the ids of their results."""
    store = SqlStore(settings.home(home))
    try:
        return [found for folder in run_folders for found in store.adopt(Path(folder))]
    finally:
        store.close()


def known_data(home: Home = None) -> list[Held]:
    """Every dataset that is known: where it is here, or how to get it."""
    from assay.datasets.library import held

    return held(settings.home(home))


def fetch_data(
    *names: str, home: Home = None, watch: Callable[..., None] | None = None
) -> list[str]:
    """Have these datasets, from local files or by download; the places they are in."""
    from assay.datasets.fetch import fetch

    place = settings.home(home)
    return [found for name in names for found in fetch(name, place, watch or _ignore)]


def _measured(
    asked: Plan,
    cases: Iterable[Case],
    store: SqlStore,
    folder: Path,
    watch: Callable[..., None] | None,
) -> Iterator[Result]:
    from assay import batchsize, evaluating
    from assay.doctor import peaks_for
    from assay.launch import measure_case

    peaks = peaks_for(store.runs.parent)
    try:
        with folders.locked(folder):
            for case in cases:
                place = folders.new_case(folder)
                sized, search = batchsize.settled(case, place, asked.procedure, watch or _ignore)
                special = evaluating.special(asked, sized, place, watch or _ignore)
                found = measure_case(
                    sized,
                    asked.procedure,
                    f"{folder.name}/{place.name}",
                    place,
                    watch or _ignore,
                    special.conduct,
                    special.lacking,
                )
                result = msgspec.structs.replace(
                    found,
                    label=asked.label,
                    tags=asked.tags,
                    facts={**found.facts, **search, **special.facts},
                    environment=_with_peaks(found.environment, peaks),
                )
                store.append(result)
                summary_of(result, store)  # kept now, so that a later look is quick
                yield result
                if result.status == "interrupted":
                    raise KeyboardInterrupt(result.reason)
    finally:
        store.close()


def _only(found: Sequence[Result], what: str) -> Result:
    if len(found) != 1:
        ids = ", ".join(result.id for result in found)
        raise UsageError(
            f"'{what}' names {len(found)} results, but this figure shows one.",
            hint=f"Choose one of: {ids}" if found else "assay list results shows what is kept.",
        )
    return found[0]


def _with_peaks(found: Environment, peaks: Mapping[str, Value]) -> Environment:
    """What the doctor measured stands beside the result, so that it explains itself for ever."""
    return msgspec.structs.replace(found, machine={**found.machine, **peaks})


def summary_of(result: Result, store: SqlStore) -> Summary:
    """The summary the store keeps, or a new one, kept from now on."""
    kept = store.summary(result.id, ANALYSIS)
    if kept is None:
        kept = summarize(result)
        store.keep_summary(result.id, ANALYSIS, msgspec.json.encode(kept))
    return kept


def _lasting(found: list[Reading]) -> list[Reading]:
    """Without interrupted results whose case was measured later in the same run."""
    last = {(r.result.run, r.result.case.key): r.result.id for r in found}
    return [
        r
        for r in found
        if r.result.status != "interrupted"
        or last[(r.result.run, r.result.case.key)] == r.result.id
    ]


def _ignore(*_: object) -> None:
    pass
