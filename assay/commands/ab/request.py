"""Build and check the request of a comparison before anything is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.commands.ab.state import AbRequest
from assay.core.case_text import CaseLike
from assay.core.errors import UsageError
from assay.core.units import as_seconds, as_share
from assay.logs.patterns import compile_pattern
from assay.measure import contenders, monitoring
from assay.measure.remote import executor
from assay.stats import generation, paired_ratio, sequential

# Metrics that every case has, and every case that makes text.
CASE_METRICS = (
    "step_time",
    "item_time",
    paired_ratio.FASTEST,
    *paired_ratio.ONCE,
    *generation.TIMED,
)


def make_request(
    cases: Sequence[CaseLike],
    *,
    commands: Sequence[str],
    pythons: Sequence[str],
    commits: Sequence[str],
    metric: str,
    budget: float | str,
    min_effect: float | str,
    pairs: int,
    timeout: float | str,
    higher_is_better: bool,
    aa: bool,
    outputs: bool,
    cold: bool,
    build: str,
    trust: bool,
) -> AbRequest:
    """What is stored of the arguments of `assay.ab`."""
    _check_mixture({"cases": cases, "--python": pythons, "--commit": commits}, commands)
    name, pattern = _metric(metric, commands)
    better = higher_is_better or (name == generation.RATE and not commands)
    limit = as_seconds(timeout, "timeout", "10m")
    if aa and len(commands or cases) == 1:
        commands, cases = [*commands] * 2, [*cases] * 2
    request = AbRequest(
        pair=_make_pair(commands, (name, pattern), limit, (cases, pythons, commits, trust)),
        terms=paired_ratio.DecisionRule(
            name, as_share(min_effect, "The smallest effect", "1%"), better
        ),
        budget=as_seconds(budget, "budget", "5m"),
        pairs=min(pairs, sequential.MAX_PAIRS),
        timeout=limit,
        outputs=outputs,
        cold=cold,
        build=build,
    )
    _check_same(request.pair, aa)
    return request


def _metric(text: str, commands: Sequence[str]) -> tuple[str, str]:
    """Its name, and the pattern by which it is found in a command's output."""
    name, equals, pattern = text.partition("=")
    _check_pattern(name, pattern, commands) if equals else _check_metric(name, commands)
    return name or (contenders.WALL if commands else ""), pattern


def _make_pair(
    commands: Sequence[str],
    metric: tuple[str, str],
    limit: float,
    case_args: tuple[Sequence[CaseLike], Sequence[str], Sequence[str], bool],
) -> contenders.Pair:
    if commands:
        return contenders.pair_from_commands(commands, metric, limit)
    return contenders.pair_from_cases(*case_args)


def check_remote(
    on: str, need: Mapping[str, str] | None, local_folders: Mapping[str, Sequence[str]]
) -> None:
    executor(on, need)  # reports its own errors first
    for name, values in local_folders.items():
        if on and values:
            raise UsageError(
                f"{name} names a folder of this machine, and --on {on} measures on others.",
                hint="On a cluster, compare two cases or two commands that its nodes have.",
            )


def _check_mixture(case_inputs: Mapping[str, Sequence[object]], commands: Sequence[str]) -> None:
    for name, values in case_inputs.items():
        if values and commands:
            raise UsageError(
                f"Both {name} and --cmd were given.",
                hint=f"Give {name} or --cmd, not both: a comparison is of cases or of commands.",
            )


def _check_pattern(name: str, pattern: str, commands: Sequence[str]) -> None:
    if not commands:
        raise UsageError(
            f"--metric {name}=… is read from the output of a command, but cases are compared.",
            hint=f"Of cases: {', '.join(CASE_METRICS)} or a peak.",
        )
    if not name or not pattern:
        raise UsageError(
            f"--metric is '{name}={pattern}', which has no {'pattern' if name else 'name'}.",
            hint="As in: --metric 'speed=speed: {number}'",
        )
    compile_pattern(pattern)


def _check_metric(name: str, commands: Sequence[str]) -> None:
    """Fail before the first pair."""
    known = (contenders.WALL,) if commands else CASE_METRICS
    if not name or name in known:
        return
    peaks = monitoring.peak_names()
    if name not in peaks:
        more = "; or NAME=REGEX, found in their output" if commands else ""
        raise UsageError(
            f"{'Commands' if commands else 'Cases'} have no metric named '{name}'.",
            hint=f"They have: {', '.join((*known, *peaks))}{more}.",
        )


def _check_same(pair: contenders.Pair, aa: bool) -> None:
    """Two equal contenders need `aa`, however they are spelled."""
    same = contenders.identity(pair[0]) == contenders.identity(pair[1])
    if same == aa:
        return
    if aa:
        names = " and ".join(contender.name for contender in pair)
        raise UsageError(f"{names} are not the same.", hint="Leave --aa out.")
    raise UsageError(
        f"Both are the same: {pair[0].name}.",
        hint="To estimate the noise of this machine, use --aa (aa=True).",
    )
