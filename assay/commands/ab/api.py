"""Compare two contenders in fresh pairs of processes until the difference is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

from assay.core.case_text import CaseLike
from assay.core.options import (
    Cluster,
    Cold,
    Flag,
    Label,
    Need,
    Seconds,
    Share,
    StoreUrl,
    Tags,
    Trust,
    accept_old_keywords,
)
from assay.core.progress import ProgressCallback, ignore

if TYPE_CHECKING:
    from assay.reporting.python_view import States
    from assay.stats.paired_ratio import Comparison


@accept_old_keywords(home="store", minimum="min_effect", same="aa")
def ab(
    *cases: CaseLike,
    commands: Annotated[
        Sequence[str],
        Flag("Compare two commands, given twice; run without a shell.", "COMMAND", flags="--cmd"),
    ] = (),
    pythons: Annotated[
        Sequence[str],
        Flag(
            "Compare one case in two virtual environments, given twice.", "VENV", flags="--python"
        ),
    ] = (),
    commits: Annotated[
        Sequence[str],
        Flag(
            "Compare one case at two commits, given twice; . is the working tree.",
            flags="--commit",
        ),
    ] = (),
    metric: Annotated[
        str,
        Flag(
            "What to compare: step_time (default), min (the fastest step, which others disturb "
            "least), item_time, first_step, open_time or a peak; of text time_to_first_token, "
            "time_per_output_token, token_time or decode_throughput; "
            "of commands wall_time (default) or NAME=REGEX."
        ),
    ] = "",
    budget: Annotated[Seconds, Flag("Total wall-clock time.")] = "5m",
    min_effect: Annotated[Share, Flag("Smallest difference that counts as a change.")] = "1%",
    pairs: Annotated[int, Flag("Maximum number of pairs of processes.")] = 60,
    timeout: Annotated[Seconds, Flag("Limit for one process.")] = "10m",
    higher_is_better: Annotated[bool, Flag("A higher value of the metric is better.")] = False,
    aa: Annotated[
        bool, Flag("A/A test: compare a case with itself to estimate the noise level.")
    ] = False,
    build: Annotated[str, Flag("Run in the checkout of each --commit first.", "COMMAND")] = "",
    outputs: Annotated[bool, Flag("Do not compare their outputs.", flags="--any-outputs")] = True,
    on: Cluster = "",
    need: Need = None,
    cold: Cold = False,
    trust: Trust = False,
    label: Label = "",
    tags: Tags = None,
    store: StoreUrl = None,
    progress: ProgressCallback = ignore,
) -> States[Comparison]:
    """Compare two contenders; the comparison so far is yielded after each pair and stored.

    The last one says why it `ended`. `aa` compares a case with itself; `cold` disables the shared
    compilation cache; `build` is run in each commit's checkout; `trust` lets a `.pt2` file run
    code; `on` is a Ray cluster, for both of a pair.

    >>> comparisons = assay.ab("mnist-mlp@jax", "mnist-mlp@torch")
    >>> for comparison in comparisons:  # each one when a pair is done
    ...     print(comparison.verdict, comparison.ratio.value, comparison.ended)
    >>> print(comparisons, comparisons.best)
    """
    from assay.commands.ab import loop
    from assay.commands.ab.request import check_remote, make_request
    from assay.commands.ab.view import states
    from assay.measure.remote import executor

    check_remote(on, need, {"--python": pythons, "--commit": commits})
    request = make_request(
        cases,
        commands=commands,
        pythons=pythons,
        commits=commits,
        metric=metric,
        budget=budget,
        min_effect=min_effect,
        pairs=pairs,
        timeout=timeout,
        higher_is_better=higher_is_better,
        aa=aa,
        outputs=outputs,
        cold=cold,
        build=build,
        trust=trust,
    )
    plan = loop.make_plan(request, label, tags)
    return states(loop.compare_pairs(request, plan, store, progress, executor(on, need)))


@accept_old_keywords(home="store")
def resume(
    run: str,
    store: StoreUrl = None,
    progress: ProgressCallback = ignore,
    on: str = "",
    need: Mapping[str, str] | None = None,
) -> States[Comparison]:
    """Continue a comparison that was interrupted or undecided, for its budget once more."""
    from assay.commands.ab.loop import resume_pairs
    from assay.commands.ab.view import states

    return states(resume_pairs(run, store, progress, on, need))


def load_comparison(run: str, store: StoreUrl = None) -> Comparison:
    """The stored comparison of a run."""
    from assay.core.registry import open_store
    from assay.stats.paired_ratio import Comparison
    from assay.stores.runs import COMPARISON, read_document

    with closing(open_store(store)) as opened:
        return read_document(opened, run, COMPARISON, Comparison)
