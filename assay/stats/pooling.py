"""Several results of one case → one result over all their processes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from assay.core.records import Result

_AMOUNTS = ("_joules", "_seconds", "_bytes", "_throttles")  # endings of peaks that add up


def pooled(results: Iterable[Result]) -> list[Result]:
    """One for each case, in the order they first came. An ending that is not ok is told only where
    there is no other; a result that was never opened has no process to count."""
    found: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        found[result.case.key].append(result)
    return [_one(several) for several in found.values()]


def joined_peaks(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of several processes of one case: amounts are added, all else is the highest."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {
        name: (sum if name.endswith(_AMOUNTS) else max)(p[name] for p in parts if name in p)
        for name in names
    }


def _one(several: Sequence[Result]) -> Result:
    good = [result for result in several if result.status == "ok"]
    if not good:
        return several[-1]
    samples = tuple(
        msgspec.structs.replace(part, process=number)
        for number, result in enumerate(good)
        for part in result.samples
    )
    procedure = msgspec.structs.replace(
        good[0].procedure,
        processes=len(good),
        budget=sum(result.procedure.budget for result in good),
    )
    return msgspec.structs.replace(
        good[0],
        procedure=procedure,
        samples=samples,
        seconds=sum(result.seconds for result in good),
        facts=good[0].facts | _wait(good),
        peaks=joined_peaks([result.peaks for result in good]),
    )


def _wait(results: Sequence[Result]) -> dict[str, float]:
    answer = [float(r.facts["unwaited"]) for r in results if "unwaited" in r.facts]
    return {"unwaited": min(answer)} if answer else {}
