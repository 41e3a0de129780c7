"""Whether a kept result comes out again here: measured once more, and compared to what it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

import msgspec

from assay.core.differences import Difference, Reproduction
from assay.core.errors import AssayError, UsageError
from assay.core.files import user_file
from assay.core.findings import Quantity
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import Case, Procedure, Query, Result
from assay.core.settings import Home
from assay.engine import repro as asked
from assay.engine import repro_origin
from assay.registry import open_store
from assay.verbs.compare import Comparing, compare_results
from assay.verbs.run import run
from assay.views import repro_files

MINIMUM = 0.01
LOOSE = 0.5  # what is only known to be within this is not called reproduced
FEWEST = 4  # processes a side, for an interval that is not widened
TAG = "repro"
NOISE = ("other-load", "throttled", "steal", "swap", "quota")  # doubts that lie in the machine


def repro(
    id: str,
    origin: str | Path = "",
    against: str = "",
    check: bool = False,
    write: str | Path = "",
    home: Home = None,
    progress: ProgressCallback = ignore,
) -> Reproduction:
    """Measure a kept result again and say whether it is the same, or what is missing for it.

    The id is RUN/NNN, a run of one result, or a repro id; `origin` is the run's folder or URL
    where it is not in this store. `against` is another kept result in place of a new measurement;
    with `check` nothing is measured. `write` is a folder for the lock of its packages and a
    container's recipe.

    >>> found = assay.repro("last")
    >>> print(found.sentence, found.changed)
    """
    result = _found(id, origin, home)
    told = _told(result)
    if against:
        found = _judged(result, _found(against, "", home), told)
    elif told.lacking or check:
        found = told
    else:
        found = _judged(result, _again(result, home, progress), told)
        if found.answer == "differs":
            found = _confirmed(found, _judged(result, _again(result, home, progress), told))
    return _written(result, found, Path(write)) if write else found


def _found(text: str, origin: str | Path, home: Home) -> Result:
    results = list(repro_origin.results(str(origin), text)) if origin else list(_kept(text, home))
    number = text.rpartition("/")[2]
    if origin and len(results) > 1:
        results = [
            one
            for one in results
            if text == asked.repro_id(one) or number == one.id.rpartition("/")[2]
        ]
    if len(results) == 1:
        return results[0]
    raise UsageError(
        f"'{text}' is {len(results) or 'no'} results, but one at a time is reproduced.",
        hint="Give RUN/NNN; assay list results shows what there is.",
    )


def _kept(text: str, home: Home) -> Iterator[Result]:
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


def _told(result: Result) -> Reproduction:
    """What is known before anything is measured."""
    if result.status != "ok":
        raise UsageError(
            f"{result.id} ended as {result.status}, so there is no time to reproduce.",
            hint=f"To try it again: {asked.command(result)}",
        )
    lacking = asked.lacking(result)
    return Reproduction(
        id=result.id,
        repro=asked.repro_id(result),
        command=asked.command(result),
        inputs=asked.inputs(result),
        answer="cannot" if lacking else "possible",
        sentence=_sentence(result, lacking),
        lacking=tuple(lacking),
        changed=tuple(asked.changed(result)),
    )


def _sentence(result: Result, lacking: Sequence[str]) -> str:
    if how := asked.by_hand(result):
        return f"cannot be measured again by repro, which repeats step times: {how}"
    if lacking:
        return f"cannot be measured again: {lacking[0]} is missing"
    return "can be measured again here"


def _again(result: Result, home: Home, progress: ProgressCallback) -> Result:
    """By the same procedure, as a run of its own that names the result it is of."""
    case = Case(
        workload=result.case.workload,
        backend=result.case.backend,
        params=result.case.params,
        options=result.case.options,
    )
    procedure: Procedure = result.procedure
    tags = {TAG: asked.repro_id(result)}
    (again,) = run(case, procedure=procedure, tags=tags, home=home, progress=progress)
    return again


def _judged(result: Result, again: Result, told: Reproduction) -> Reproduction:
    replace = msgspec.structs.replace
    if again.status != "ok":
        why = f"cannot be measured again: it ended as {again.status} ({again.reason})"
        return replace(told, answer="cannot", sentence=why, again=again.id)
    names = (result.id, again.id)
    (one,) = compare_results([result], [again], names, Comparing(minimum=MINIMUM)).differences
    answer, sentence = _answer(one)
    noise = _noise(result, again) if answer == "differs" else ""
    if noise:
        answer, sentence = "cannot", f"cannot tell: it {sentence}, but {noise}"
    ratio = Quantity(
        value=one.ratio,
        low=one.low,
        high=one.high,
        unit="",
        estimator="the new time over the old",
        n=min(one.first.n, one.second.n),
    )
    return replace(
        told,
        answer=answer,
        sentence=sentence,
        changed=tuple(dict.fromkeys(one.notes)),
        lacking=(f"a quiet machine: {noise}",) if noise else (),
        ratio=ratio,
        again=again.id,
    )


def _confirmed(found: Reproduction, third: Reproduction) -> Reproduction:
    """A difference, if it is there when measured once more: a machine may be slow for a while."""
    slower = {one.ratio.value > 1 for one in (found, third) if one.ratio}
    if third.answer == "differs" and len(slower) == 1:
        sentence = f"{found.sentence}; measured once more, it {third.sentence}"
        return msgspec.structs.replace(found, sentence=sentence)
    return msgspec.structs.replace(
        found,
        answer="cannot",
        sentence=f"cannot tell: it {found.sentence}; measured once more: {third.sentence}",
        lacking=("a steady machine: two new measurements do not agree",),
    )


def _noise(result: Result, again: Result) -> str:
    """What else the machine did while one of them was measured: it may have made the difference."""
    from assay.analysis.summary import summarize

    for one in (result, again):
        for doubt in summarize(one).doubts:
            if doubt.code in NOISE:
                return f"when {one.id} was measured, {doubt.text}"
    return ""


def _answer(one: Difference) -> tuple[Literal["reproduced", "differs", "cannot"], str]:
    if one.verdict == "not-comparable":
        return "cannot", f"cannot be compared: {one.notes[0]}"
    percent = 100 * (one.ratio - 1)
    span = f"{100 * (one.low - 1):+.1f} % to {100 * (one.high - 1):+.1f} %".replace("-", "−")
    apart = f"{abs(percent):.1f} % {'slower' if percent > 0 else 'faster'}"
    if one.low <= 1 <= one.high or abs(one.ratio - 1) <= MINIMUM:
        within = 100 * max(one.high - 1, 1 - one.low)
        if within > 100 * LOOSE:
            return "cannot", f"cannot tell: the times vary too much ({apart}, {span})"
        few = "; more processes tell more" if min(one.first.n, one.second.n) < FEWEST else ""
        return "reproduced", f"reproduced within {within:.1f} % ({apart}, {span}{few})"
    return "differs", f"differs by {abs(percent):.1f} %: {apart} ({span})"


def _written(result: Result, found: Reproduction, folder: Path) -> Reproduction:
    texts = {
        repro_files.LOCK: repro_files.lock(result),
        repro_files.RECIPE: repro_files.recipe(result, found.command),
    }
    return msgspec.structs.replace(found, files=tuple(_write(folder, texts)))


def _write(folder: Path, texts: dict[str, str]) -> Sequence[str]:
    for name, text in texts.items():
        with user_file(folder / name) as temporary:
            temporary.write_text(text)
    return [str(folder / name) for name in texts]
