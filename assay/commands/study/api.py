"""Studies: a workload over a matrix of options, every case in several fresh processes.

Cases are visited in rounds, in an order drawn anew for each, a few of them warm at a time and
sampled in turns. Each visit is a result of its own in the run; tables pool them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Annotated

import msgspec

from assay.commands.study.over import cases_over, check_over
from assay.core import registry
from assay.core.contracts import Store, Study
from assay.core.errors import EndingError, StoreError, UsageError
from assay.core.findings import Mismatch, SummarizedResult, Table
from assay.core.options import (
    Argument,
    Axes,
    Backends,
    Cold,
    Flag,
    Label,
    Seconds,
    StoreUrl,
    Trust,
    accept_old_keywords,
)
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import Case, Plan, Procedure, Query, Result, Samples, Value
from assay.core.registry import backends_for, open_store
from assay.core.settings import Home
from assay.core.units import as_integer, as_seconds
from assay.measure import plan
from assay.measure.case import HeatEntry, check_supported, measure_case
from assay.measure.heat import MAX_OPEN_CASES, Heat, run_heat
from assay.measure.inputs import axes, backend_names
from assay.measure.recorder import (
    Recorder,
    check_resumable,
    find_run_of_command,
    new_run,
    reopen_run,
)
from assay.stats.estimates import running_estimate
from assay.stats.roofline import Floor
from assay.stats.stopping import FIRST, is_narrow
from assay.stats.summary import summarize
from assay.workloads import studies

ROUNDS = 3  # visits of a case, each in a fresh process: with two an interval says next to nothing
MIN_SECONDS = 0.2  # of sampling in one visit


class StudyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A study to be measured."""

    name: str
    study: Study | None  # None: of chosen axes
    plan: Plan
    rounds: int

    @property
    def visits(self) -> int:
        """At most: what does not run once is not visited again."""
        return self.rounds * len(self.plan.cases)


@accept_old_keywords(home="store")
def study(
    name: Annotated[str, Argument(complete="studies")],
    extras: Sequence[str] = (),
    over: Annotated[
        Axes | None,
        Flag(
            "Option or parameter to vary, of any workload or own model; repeatable.",
            "NAME=A,B",
            read="axes",
        ),
    ] = None,
    backends: Backends = (),
    size: Annotated[str, Flag("Size of the workload: full or small.", "NAME")] = "",
    options: Annotated[
        Mapping[str, Value] | None,
        Flag("Backend option for all cases.", "NAME=VALUE", flags="--option", read="pairs"),
    ] = None,
    budget: Annotated[Seconds, Flag("Sampling time, shared by all cases.")] = "10m",
    rounds: Annotated[int, Flag("Fresh processes per case.", min=1)] = 3,
    timeout: Annotated[Seconds, Flag("Limit for one process.")] = "10m",
    cold: Cold = False,
    trust: Trust = False,
    label: Label = "",
    store: StoreUrl = None,
    progress: ProgressCallback = ignore,
) -> list[SummarizedResult]:
    """All of a study in one call; with `over`, of any workload or own model.

    >>> assay.study("mnist-mlp", over={"precision": ["float32", "bfloat16"]}, budget="1m")
    >>> for reading in assay.study("vgg16", size="small", budget=60):
    ...     print(reading.result.case.key, reading.summary.quantities.get("step_time"))
    """
    asked = request(
        name,
        extras=extras,
        over=over,
        backends=backends,
        size=size,
        options=options,
        budget=budget,
        rounds=rounds,
        timeout=timeout,
        cold=cold,
        trust=trust,
        label=label,
    )
    results = list(begin_study(asked, store, progress))
    return load_study(results[0].run, store)[1]


def request(
    name: str,
    extras: Sequence[str] = (),
    over: Axes | None = None,
    backends: str | Sequence[str] = (),
    size: str = "",
    options: Mapping[str, Value] | None = None,
    budget: float | str = 600.0,
    rounds: int = ROUNDS,
    timeout: float | str = 600.0,
    cold: bool = False,
    trust: bool = False,
    label: str = "",
) -> StudyRequest:
    """The cases of a study, and its budget of sampling shared by those that can run here."""
    study = None if over else _named_study(name)
    seconds = as_seconds(budget, "budget", "10m")
    limit = as_seconds(timeout, "timeout", "10m")
    rounds = as_integer(rounds, "rounds", 1, hint="--rounds 3")
    names = backend_names(backends)
    if study is None:
        check_over(extras, size)
        size = "as given"
        cases = cases_over(name, names, axes(over, "over"), options or {}, trust)
    else:
        _check(name, study, extras, size)
        size = size or next(iter(study.sizes))
        cases = _cases(study, extras, names, size, options or {}, trust)
    share = seconds / rounds / max(1, sum(not _refusal(case) for case in cases))
    made_plan = Plan(
        cases=cases,
        procedure=Procedure(budget=max(MIN_SECONDS, share), timeout=limit, cold=cold),
        label=label,
        tags={"study": name, "size": size, "rounds": str(rounds)}
        | ({"over": ",".join(over)} if over else {}),
        verb="study",
    )
    return StudyRequest(name=name, study=study, plan=made_plan, rounds=rounds)


def begin_study(
    request: StudyRequest, home: Home = None, progress: ProgressCallback = ignore
) -> Iterator[Result]:
    """Measure all of it; every visit is kept, then yielded."""
    with new_run(request.plan, home) as run:
        yield from _run_rounds(request, run, progress)


def resume(run: str, home: Home = None, progress: ProgressCallback = ignore) -> Iterator[Result]:
    """What a study's run still lacks, into the same run."""
    return _resume(check_resumable(run, "study", home), home, progress)


def load_study(run: str, home: Home = None) -> tuple[StudyRequest, list[SummarizedResult]]:
    """A study's run as it stands: a reading for each case, over all its processes."""
    name = find_run_of_command(run, "study", home)
    with closing(open_store(home)) as store:
        return read_study(store, name)


def read_study(store: Store, run: str) -> tuple[StudyRequest, list[SummarizedResult]]:
    """Likewise of a store that is open, by the run's whole name."""
    from assay.stats.pooling import pool_results

    request = _stored_request(store, run)
    by_case = {r.case.key: r for r in pool_results(store.results(Query(ids=(run,))))}
    ordered = [by_case[case.key] for case in request.plan.cases if case.key in by_case]
    return request, [
        SummarizedResult(result=result, summary=summarize(result)) for result in ordered
    ]


def findings(readings: Sequence[SummarizedResult]) -> StudySummary:
    """What differs, the floor, and what each option gains."""
    from assay.stats import option_effects, roofline
    from assay.stats.fairness import checks

    floors = (roofline.floor(reading.result) for reading in readings)
    effects = option_effects.option_effects(readings)
    return StudySummary(
        mismatches=tuple(checks.differences(reading.result for reading in readings)),
        floor=next(filter(None, floors), None),
        option_effects=option_effects.effects_table(effects) if effects else None,
    )


def _resume(name: str, home: Home, progress: ProgressCallback) -> Iterator[Result]:
    with reopen_run(name, home) as run:
        yield from _run_rounds(_stored_request(run.store, name), run, progress)


def _run_rounds(
    request: StudyRequest, run: Recorder, progress: ProgressCallback
) -> Iterator[Result]:
    rounds = Rounds(request.plan.cases, request.rounds, run.name, run.results())
    for _, readings in run.record(_groups(rounds, run, progress)):
        yield from (reading.result for reading in readings)


def _groups(
    rounds: Rounds, run: Recorder, progress: ProgressCallback
) -> Iterator[tuple[None, list[Result]]]:
    while group := rounds.next_group():
        results = list(_visited_cases(group, rounds, run, progress))
        for result in results:
            rounds.add_result(result)
        yield None, results


def _visited_cases(
    group: Sequence[Case], rounds: Rounds, run: Recorder, progress: ProgressCallback
) -> Iterator[Result]:
    """Several take turns; who cannot, for lack of memory or of others, comes again alone."""
    procedure = run.plan.procedure
    runnable_first = sorted(group, key=lambda case: bool(_refusal(case)))  # it shows the memory
    entries = [
        HeatEntry(case.key, case, run.new_case(), rounds.facts(case)) for case in runnable_first
    ]
    if len(entries) == 1:
        (entry,) = entries
        yield measure_case(entry.case, procedure, entry.case_dir, progress)
        return
    keep_going = partial(_needs_turns, procedure=procedure)
    heat = run_heat(entries, procedure, progress, keep_going, seed=rounds.count)
    for entry in entries:
        result = heat.results[entry.name]
        lonely = result.status == "ok" and not result.values("step_time")
        if lonely or entry.name in heat.excluded:
            rounds.retry_solo(entry.case)
        else:
            yield result


def _needs_turns(heat: Heat, procedure: Procedure) -> bool:
    """Until everyone has its share of the budget, or is known well enough."""
    return any(_is_open(parts, procedure) for parts in heat.turns.values())


def _is_open(parts: Sequence[Samples], procedure: Procedure) -> bool:
    values = [value for part in parts for value in part.values]
    if sum(sum(part.values) * part.steps for part in parts) >= procedure.budget:
        return False
    return len(values) < FIRST or not is_narrow(running_estimate(values), procedure.target)


def _cases(
    study: Study,
    extras: Sequence[str],
    backends: Sequence[str],
    size: str,
    options: Mapping[str, Value],
    trust: bool,
) -> tuple[Case, ...]:
    matrix: dict[str, Sequence[Value]] = dict([study.rows, study.columns])
    matrix |= {name: (value,) for name, value in options.items()}
    names = backends or [
        name
        for name in backends_for(registry.workload(study.workload))
        if matrix.keys() <= registry.backend(name).options.keys()  # else it has nothing to choose
    ]
    cases: list[Case] = []
    for variant in study.variants:
        if not variant.extra or variant.extra in extras:
            params = {name: (v,) for name, v in {**study.sizes[size], **variant.params}.items()}
            cases += plan.expand_cases([study.workload], names, params, matrix, trust)
    return tuple(cases)


def _named_study(name: str) -> Study:
    if name in studies.STUDIES:
        return studies.study(name)
    raise UsageError(
        f"There is no study named '{name}'.",
        hint=f"There is {', '.join(studies.STUDIES)}; a workload or own model takes --over, as in: "
        f"assay study {name} --over precision=float32,bfloat16",
    )


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
        check_supported(case)
    except EndingError as error:
        return error.reason
    return ""


def _stored_request(store: Store, run: str) -> StudyRequest:
    """What a run was begun with."""
    plan = store.plan(run)
    name, rounds = plan.tags.get("study", ""), plan.tags.get("rounds", "")
    if not name or not (rounds.isascii() and rounds.isdecimal()):
        raise StoreError(
            f"The plan of run {run} is no plan of a study.", hint=f"assay show {run} --results"
        )
    study = None if "over" in plan.tags else studies.study(name)
    return StudyRequest(name=name, study=study, plan=plan, rounds=int(rounds[:9]))


class Rounds:
    """Which cases come next: round after round, in an order that the run's name decides."""

    def __init__(
        self, cases: Sequence[Case], rounds: int, seed: str, done: Sequence[Result] = ()
    ) -> None:
        self._rounds, self._cases = rounds, cases
        self._random = random.Random(seed)
        self._good: Counter[str] = Counter()
        self._bad: set[str] = set()
        self._facts: dict[str, Mapping[str, Value]] = {}
        self._crowded: set[str] = set()
        self._queue: list[Case] = []
        self.count = 0  # of groups so far
        for result in done:
            self.add_result(result)

    def next_group(self) -> list[Case]:
        self.count += 1
        if self._crowded:
            key = self._crowded.pop()
            return [case for case in self._cases if case.key == key]
        if not self._queue:
            self._queue = self._next_round()
        group, self._queue = self._queue[:MAX_OPEN_CASES], self._queue[MAX_OPEN_CASES:]
        return group

    def retry_solo(self, case: Case) -> None:
        """It could not take turns with the others: once more, alone."""
        self._crowded.add(case.key)

    def add_result(self, result: Result) -> None:
        key = result.case.key
        if result.status == "ok":
            self._good[key] += 1
            self._facts[key] = result.facts
        elif result.status != "interrupted":
            self._bad.add(key)

    def facts(self, case: Case) -> Mapping[str, Value]:
        """Of a visit that ended well: they are not found out again."""
        return self._facts.get(case.key, {})

    def _next_round(self) -> list[Case]:
        left = [case for case in self._cases if case.key not in self._bad]
        fewest = min((self._good[case.key] for case in left), default=self._rounds)
        if fewest >= self._rounds:
            return []
        due = [case for case in left if self._good[case.key] == fewest]
        return self._random.sample(due, len(due))


class StudySummary(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from a study's readings together."""

    mismatches: tuple[Mismatch, ...] = ()
    floor: Floor | None = None
    option_effects: Table | None = (
        None  # what each option gains; None: no two cases differ in one alone
    )
