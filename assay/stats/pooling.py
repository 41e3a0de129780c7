"""Merge results of one case into one result with all processes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from assay.core.records import Result

_AMOUNTS = ("_joules", "_seconds", "_bytes", "_throttles")  # suffixes of peaks that are summed


def pool_results(results: Iterable[Result]) -> list[Result]:
    """One result per case, in order. Failed results count only if no result of the case is ok."""
    by_case: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        by_case[result.case.key].append(result)
    return [_pool_case(several) for several in by_case.values()]


def pool_peaks(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Peaks of several processes: sums of amounts, maxima of others."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {
        name: (sum if name.endswith(_AMOUNTS) else max)(p[name] for p in parts if name in p)
        for name in names
    }


def _pool_case(several: Sequence[Result]) -> Result:
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
        peaks=pool_peaks([result.peaks for result in good]),
    )


def _wait(results: Sequence[Result]) -> dict[str, float]:
    answer = [float(r.facts["unwaited"]) for r in results if "unwaited" in r.facts]
    return {"unwaited": min(answer)} if answer else {}
