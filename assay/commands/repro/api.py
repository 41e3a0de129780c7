"""Reproduce a stored result: measure it again and compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from assay.commands.compare.api import compare_results
from assay.commands.repro import setup, view
from assay.commands.repro import setup as asked
from assay.commands.repro.answer import Reproduction
from assay.core.errors import AssayError, UsageError
from assay.core.files import write_user_file
from assay.core.options import Argument, Flag, Share, StoreUrl, Trust, accept_old_keywords
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import Case, Query, Result
from assay.core.registry import open_store
from assay.core.series import series_of
from assay.core.settings import Home
from assay.core.units import as_integer, as_share
from assay.measure.plan import make_plan
from assay.measure.recorder import is_trusted, run_cases
from assay.measure.source import located_case

if TYPE_CHECKING:
    from assay.commands.repro.answer import StoredTimes

PROCESSES = 5  # at least, to estimate the spread between processes
TAG = "repro"
NEWEST = 30  # newest results of the case, for the variation over time


@accept_old_keywords(home="store")
def repro(
    id: Annotated[str, Argument("ID", complete="runs")],
    origin: Annotated[str | Path, Flag("Folder or URL of the run.", "PLACE", flags="--from")] = "",
    against: Annotated[
        str,
        Flag("Compare with this stored result; measure nothing.", "ID", complete="runs"),
    ] = "",
    check: Annotated[bool, Flag("Only show what is needed and what is missing.")] = False,
    write: Annotated[str | Path, Flag("Write lock file and Containerfile.", "FOLDER")] = "",
    within: Annotated[
        Share,
        Flag("Tolerance: maximum relative difference that counts as reproduced."),
    ] = "50%",
    processes: Annotated[
        int | None,
        Flag("Processes to measure again in; default: as many as it had, or 5.", min=2),
    ] = None,
    trust: Trust = False,
    store: StoreUrl = None,
    progress: ProgressCallback = ignore,
) -> Reproduction:
    """Measure a stored result again and report whether it is reproduced, or what is missing.

    The id is RUN/001, a run of one result, or a repro id; `origin` is the run's folder or URL
    where it is not in this store. `against` is another stored result instead of a new measurement;
    with `check` nothing is measured. `write` is a folder for the lock of its packages and a
    container's recipe. A difference that may exceed `within` is undecided; more `processes` are
    more precise (default: as many as it had, or 5). `trust` lets a `.pt2` file run
    code; what was trusted when it was measured in this store still is.

    >>> reproduction = assay.repro("last")
    >>> print(reproduction.sentence, reproduction.changed)
    """
    share = as_share(within, "within", "5%")
    if processes is not None:
        processes = as_integer(processes, "processes", 2)
    result = _find_result(id, origin, store)
    known = _describe_setup(result)
    if against:
        reproduction = _decide(result, [_find_result(against, "", store)], known, share, store)
    elif known.lacking or check:
        reproduction = known
    else:
        case = _case(result, trust or (not origin and _was_trusted(result, store)))
        repeats = [_measure_again(result, case, processes or 0, store, progress)]
        reproduction = _decide(result, repeats, known, share, store)
        if reproduction.answer in ("differs", "undecided"):  # a machine may be slow for a while
            repeats.append(_measure_again(result, case, processes or 0, store, progress))
            reproduction = _decide(result, repeats, known, share, store)
    return _write_files(result, reproduction, Path(write)) if write else reproduction


def _find_result(text: str, origin: str | Path, home: Home) -> Result:
    results = (
        list(setup.results(str(origin), text)) if origin else list(_stored_results(text, home))
    )
    number = text.rpartition("/")[2]
    if origin and len(results) > 1:
        results = [
            result
            for result in results
            if text == asked.repro_id(result) or number == result.id.rpartition("/")[2]
        ]
    if len(results) == 1:
        return results[0]
    raise UsageError(
        f"'{text}' is {len(results) or 'no'} results, but repro takes exactly one.",
        hint="Name one, as in last/001; assay list results shows what there is.",
    )


def _stored_results(text: str, home: Home) -> Iterator[Result]:
    with closing(open_store(home)) as store:
        try:
            ids = store.find(text)
        except AssayError:
            if not asked.REPRO.fullmatch(text):
                raise
            fitting = (r for r in store.results(Query()) if asked.repro_id(r) == text)
            yield from fitting
            return
        yield from store.results(Query(ids=ids)) if ids else ()


def _describe_setup(result: Result) -> Reproduction:
    """The reproduction before anything is measured."""
    if result.status != "ok":
        raise UsageError(
            f"{result.id} ended as {result.status}, so there is no time to reproduce.",
            hint=f"To try it again: {asked.command(result)}",
        )
    missing = asked.missing_parts(result)
    return Reproduction(
        id=result.id,
        repro=asked.repro_id(result),
        command=asked.command(result),
        inputs=asked.input_files(result),
        answer="cannot" if missing else "possible",
        sentence=_setup_sentence(result, missing),
        lacking=tuple(missing),
        changed=tuple(asked.changed_packages(result)),
    )


def _setup_sentence(result: Result, missing: Sequence[str]) -> str:
    if how := asked.manual_steps(result):
        return f"cannot be measured again by repro, which repeats step times: {how}"
    if missing:
        return f"cannot be measured again: {missing[0]} is missing"
    return "can be measured again here"


def _was_trusted(result: Result, home: Home) -> bool:
    with closing(open_store(home)) as store:
        return is_trusted(result, store)


def _case(result: Result, trust: bool) -> Case:
    return Case(
        workload=located_case(result).workload,
        backend=result.case.backend,
        params=result.case.params,
        options=result.case.options,
        trust=trust or msgspec.UNSET,
    )


def _measure_again(
    result: Result, case: Case, processes: int, home: Home, progress: ProgressCallback
) -> Result:
    """Measure it by the same procedure, as a new run tagged with the repro id."""
    then = result.procedure
    count = processes or max(then.processes, PROCESSES)
    procedure = msgspec.structs.replace(
        then, processes=count, budget=then.budget * count / then.processes
    )
    tags = {TAG: asked.repro_id(result)}
    plan = make_plan(case, procedure=procedure, tags=tags)
    (again,) = run_cases(plan, home, progress)
    return again.result


def _decide(
    result: Result, repeats: Sequence[Result], known: Reproduction, within: float, home: Home
) -> Reproduction:
    from assay.commands.repro import answer

    replace = msgspec.structs.replace
    known = replace(known, again=", ".join(repeat.id for repeat in repeats))
    for repeat in repeats:
        if repeat.status != "ok":
            why = f"cannot be measured again: it ended as {repeat.status} ({repeat.reason})"
            return replace(known, answer="cannot", sentence=why)
    names = (result.id, repeats[-1].id)
    (difference,) = compare_results([result], repeats[-1:], names).differences
    known = replace(known, changed=tuple(dict.fromkeys(difference.notes)))
    if difference.verdict == "not-comparable":
        return replace(
            known, answer="cannot", sentence=f"cannot be compared: {difference.notes[0]}"
        )
    if not difference.ratio > 0:
        why = f"cannot be compared: not all values of {difference.metric} are above 0"
        return replace(known, answer="cannot", sentence=why)
    verdict = answer.decide(result, repeats, within, _series(result, difference.metric, home))
    return replace(
        known,
        answer=verdict.answer,
        sentence=verdict.sentence,
        lacking=(verdict.advice,) if verdict.advice else (),
        ratio=answer.quantity(verdict.typical),
        fastest=answer.quantity(verdict.fastest) if verdict.fastest else None,
    )


def _series(result: Result, metric: str, home: Home) -> StoredTimes:
    from assay.commands.repro.answer import StoredTimes

    known = series_of(result).id
    with closing(open_store(home)) as store:
        typical, fastest = (
            [point.value for point in store.points(known, name, NEWEST)] for name in (metric, "min")
        )
    return StoredTimes(typical, fastest)


def _write_files(result: Result, reproduction: Reproduction, folder: Path) -> Reproduction:
    texts = {
        view.LOCK: view.lock(result),
        view.RECIPE: view.recipe(result, reproduction.command),
    }
    return msgspec.structs.replace(reproduction, files=tuple(_write(folder, texts)))


def _write(folder: Path, texts: dict[str, str]) -> Sequence[str]:
    for name, text in texts.items():
        write_user_file(folder / name, text.encode())
    return [str(folder / name) for name in texts]
