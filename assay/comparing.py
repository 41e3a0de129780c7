"""Which of two is faster: fresh pairs of processes until the question is decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from assay import codec, contenders, environment, settings, watcher
from assay.analysis import compare, sequence
from assay.api import summary_of
from assay.errors import UsageError
from assay.findings import Comparison
from assay.pairing import Setting, Taken, take_pair
from assay.records import Case, Plan
from assay.schedule import Watch
from assay.stores import folders
from assay.stores.sql import SqlStore
from assay.story import Asked, Story, why_ended


def ab(
    *cases: str | Case,
    commands: Sequence[str] = (),
    pythons: Sequence[str] = (),
    commits: Sequence[str] = (),
    metric: str = "",
    budget: float = 300.0,
    minimum: float = compare.MINIMUM,
    pairs: int = sequence.MOST,
    timeout: float = 600.0,
    higher_is_better: bool = False,
    same: bool = False,
    outputs: bool = True,
    label: str = "",
    tags: Mapping[str, str] | None = None,
    home: str | Path | None = None,
    watch: Watch | None = None,
) -> Iterator[Comparison]:
    """Compare two contenders; what is known is yielded after each pair, and kept with the run.

    The last one says why it `ended`. With `same`, one case is compared to itself.

    >>> for found in assay.ab("mnist-mlp@jax", "mnist-mlp@torch"):
    ...     print(found.verdict, found.ratio.value, found.ratio.low, found.ratio.high, found.ended)
    """
    name, _, pattern = metric.partition("=")
    _check_mixture({"cases": cases, "--python": pythons, "--commit": commits}, commands)
    _check_metric(name, pattern, commands)
    if commands:
        name = name or contenders.WALL
        pair = contenders.of_commands(commands, (name, pattern), timeout)
    else:
        pair = contenders.of_cases(
            2 * cases if same and len(cases) == 1 else cases, pythons, commits
        )
    asked = Asked(
        pair=pair,
        terms=compare.Terms(name, minimum, higher_is_better),
        budget=budget,
        pairs=min(pairs, sequence.MOST),
        timeout=timeout,
        outputs=outputs,
    )
    if same:
        _check_same(pair)
    return _begin(asked, label, dict(tags or {}), home, watch or _ignore)


def kept(run: str, home: str | Path | None = None) -> Comparison:
    """What a comparison found, as far as it came."""
    store = SqlStore(settings.home(home))
    try:
        file = store.runs / store.find_run(run) / folders.COMPARISON
    finally:
        store.close()
    return codec.decode(file.read_bytes(), Comparison, str(file))


def _check_mixture(of_cases: Mapping[str, Sequence[object]], commands: Sequence[str]) -> None:
    for name, given in of_cases.items():
        if given and commands:
            raise UsageError(
                f"Both {name} and --cmd were given.",
                hint=f"Give {name} or --cmd, not both: a comparison is of cases or of commands.",
            )


def _check_metric(name: str, pattern: str, commands: Sequence[str]) -> None:
    """At once, rather than after the first pair."""
    known = (contenders.WALL,) if commands else ("step_time", "item_time", *compare.ONCE)
    if not name or name in known or (pattern and commands):
        return
    if pattern:
        raise UsageError(
            f"--metric {name}=… is read from the output of a command, but cases are compared.",
            hint=f"Of cases: {', '.join(known)} or a peak.",
        )
    peaks = watcher.peak_names()
    if name not in peaks:
        more = "; or NAME=REGEX, found in their output" if commands else ""
        raise UsageError(
            f"{'Commands' if commands else 'Cases'} have no metric named '{name}'.",
            hint=f"They have: {', '.join((*known, *peaks))}{more}.",
        )


def _check_same(pair: contenders.Pair) -> None:
    if pair[0].case != pair[1].case:
        raise UsageError(
            f"{pair[0].name} and {pair[1].name} are not the same.", hint="Leave --aa out."
        )


def _begin(
    asked: Asked, label: str, tags: dict[str, str], home: str | Path | None, watch: Watch
) -> Iterator[Comparison]:
    plan = Plan(
        cases=tuple(contender.case for contender in asked.pair),
        procedure=asked.procedure,
        label=label,
        tags=environment.safe_tags(tags),
    )
    store = SqlStore(settings.home(home))
    return _compared(asked, plan, store, store.new_run(plan), watch)


def _compared(
    asked: Asked, plan: Plan, store: SqlStore, run: Path, watch: Watch
) -> Iterator[Comparison]:
    story = Story(asked, run)
    setting = Setting(run, asked.procedure, asked.terms.minimum, story.deadline, watch)
    found = story.comparison()
    try:
        with folders.locked(run), contenders.checked_out(asked.pair) as pair:
            while not found.ended:
                taken = take_pair(pair, setting, story.pairs + 1, found.pairs, story.apart)
                story.add(_kept(taken, plan, store))
                found = story.comparison()
                found = msgspec.structs.replace(found, ended=why_ended(asked, found, story))
                folders.write_whole(run / folders.COMPARISON, codec.encode(found, indent=2))
                yield found
                if any(result.status == "interrupted" for result in taken.results):
                    raise KeyboardInterrupt
    finally:
        store.close()


def _kept(taken: Taken, plan: Plan, store: SqlStore) -> Taken:
    """The pair with the run's label and tags, in the store."""
    first, second = (
        msgspec.structs.replace(result, label=plan.label, tags={**plan.tags, **result.tags})
        for result in taken.results
    )
    for result in {result.id: result for result in (first, second)}.values():
        store.append(result)
        summary_of(result, store)
    return taken._replace(results=(first, second))


def _ignore(*_: object) -> None:
    pass
