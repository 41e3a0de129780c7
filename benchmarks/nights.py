"""What does the gate report night by night: steps of one series, and nothing else?

    python benchmarks/nights.py hits [TRIALS]            +50 % in one of 1 to 200 series
    python benchmarks/nights.py alarms [NIGHTS]          200 unchanged series, simulated noise
    python benchmarks/nights.py real FILE [TRIALS]       steps and false alarms, real residuals
    python benchmarks/nights.py smallest FILE [TRIALS]   step that is flagged on the first night
    python benchmarks/nights.py events [NIGHTS]          machine shifts, weekends, missing nights

FILE is a list of benchmark histories, see real_series.py. A trial is one suite of series and one
step at a random one of them; every night is judged as `assay check` does, without stored marks. A
night with a false alarm has a regression (suspect) in a series that did not change.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from real_series import read_residuals

from assay.core.series import Point
from assay.stats import gate

Array = NDArray[np.float64]
LIMIT = gate.Threshold(metric="step_time", share=0.03)
SERIES = 200
LEVEL = 0.01
START = datetime(2026, 1, 1, 2, tzinfo=UTC)


class Night(NamedTuple):
    """Series with a regression, and with a suspect."""

    regressions: set[int]
    suspects: set[int]


def judge(values: Array, keep: NDArray[np.bool_] | None = None) -> Night:
    """The last night of a matrix of series and nights; `keep`: results that there are."""
    days = [(START + timedelta(days=day)).isoformat() for day in range(values.shape[1])]
    watches = []
    for number, row in enumerate(values.tolist()):
        points = [
            Point(f"r{day}/{number:03d}", days[day], "", "", value, np.nan, np.nan)
            for day, value in enumerate(row)
            if keep is None or keep[number, day]
        ]
        watches.append(gate.Watch(points, LIMIT, "s", "machine"))
    judgements = gate.decide(watches, gate.judge(watches), LEVEL)
    return Night(
        {n for n, each in enumerate(judgements) if each == "regression"},
        {n for n, each in enumerate(judgements) if each == "suspect"},
    )


def gaussian(rng: np.random.Generator, shape: tuple[int, int], sd: float = 0.01) -> Array:
    return np.exp(sd * rng.standard_normal(shape))


def heavy(rng: np.random.Generator, shape: tuple[int, int], sd: float = 0.03) -> Array:
    """Student's t with 3 degrees of freedom and this standard deviation."""
    return np.asarray(np.exp(sd * rng.standard_t(3, shape) / np.sqrt(3)))


def correlated(rng: np.random.Generator, shape: tuple[int, int], sd: float = 0.03) -> Array:
    values = rng.standard_normal(shape)
    for place in range(1, shape[1]):
        values[:, place] = 0.5 * values[:, place - 1] + np.sqrt(0.75) * values[:, place]
    return np.exp(sd * values)


def bimodal(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    return np.exp(0.01 * rng.standard_normal(shape) + 0.06 * (rng.random(shape) < 0.3))


def hits(trials: int = 60) -> None:
    """The tables of the issue: first night, third night, any of nights 3 to 10."""
    for before in (20, 60, 117):
        for series in (1, 10, 50, 200):
            rng = np.random.default_rng([40, before, series])
            first = third = later = 0
            for _ in range(trials):
                values = gaussian(rng, (series, before + 10))
                at = int(rng.integers(series))
                values[at, before:] *= 1.5
                night = judge(values[:, : before + 1])
                first += at in night.suspects | night.regressions
                found = at in judge(values[:, : before + 3]).regressions
                third += found
                later += found or any(
                    at in judge(values[:, : before + nights]).regressions for nights in range(4, 11)
                )
            shares = " ".join(f"{count / trials:.3f}" for count in (first, third, later))
            print(f"{before:4} nights before, {series:3} series: {shares} of {trials}", flush=True)


def alarms(nights: int = 100) -> None:
    rng = np.random.default_rng(41)
    kinds: dict[str, Callable[[int], Array]] = {
        "Gaussian 1 %": lambda n: gaussian(rng, (SERIES, n)),
        "Gaussian 3 %": lambda n: gaussian(rng, (SERIES, n), 0.03),
        "Gaussian 5 %": lambda n: gaussian(rng, (SERIES, n), 0.05),
        "t3 3 %": lambda n: heavy(rng, (SERIES, n)),
        "AR(1) 0.5, 3 %": lambda n: correlated(rng, (SERIES, n)),
        "bimodal": lambda n: bimodal(rng, (SERIES, n)),
    }
    for name, make in kinds.items():
        for length in (21, 61):
            _print_alarms(f"{name}, {length} points", [judge(make(length)) for _ in range(nights)])


def _print_alarms(name: str, nights: list[Night]) -> None:
    wrong, suspicious = (sum(bool(each[kind]) for each in nights) for kind in (0, 1))
    print(
        f"{name}: nights with a false regression {wrong}, with a suspect {suspicious} "
        f"of {len(nights)}",
        flush=True,
    )


def windows(rng: np.random.Generator, noise: list[Array], nights: int, shuffled: bool) -> Array:
    """Series of real residuals, drawn with repeats."""
    rows = []
    for _ in range(SERIES):
        each = noise[int(rng.integers(len(noise)))]
        each = rng.permutation(each) if shuffled else each
        start = int(rng.integers(0, len(each) - nights + 1))
        rows.append(each[start : start + nights])
    return np.exp(np.array(rows))


def real(file: str, trials: int = 40, before: int = 95, after: int = 5) -> None:
    noise = [each.noise for each in read_residuals(file) if len(each.noise) >= before + after]
    for shuffled in (True, False):
        order = "shuffled" if shuffled else "in order"
        quiet: list[Night] = []
        for size in (0.03, 0.05, 0.10):
            rng = np.random.default_rng([42, round(100 * size), shuffled])
            count = first = 0
            for _ in range(trials):
                values = windows(rng, noise, before + after, shuffled)
                quiet.append(judge(values[:, :before]))
                at = int(rng.integers(SERIES))
                values[at, before:] *= 1 + size
                nights = [judge(values[:, : before + n]) for n in (1, 3, 4, 5)]
                first += at in nights[0].suspects | nights[0].regressions
                count += any(at in night.regressions for night in nights)
            print(
                f"{order}, +{size:.0%}: first night {first / trials:.3f}, "
                f"by the fifth {count / trials:.3f} of {trials}",
                flush=True,
            )
        _print_alarms(order, quiet)


def smallest(file: str, trials: int = 40, before: int = 95) -> None:
    noise = [each.noise for each in read_residuals(file) if len(each.noise) > before]
    for shuffled in (True, False):
        for size in (0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0):
            rng = np.random.default_rng([43, round(100 * size), shuffled])
            count = 0
            for _ in range(trials):
                values = windows(rng, noise, before + 1, shuffled)
                at = int(rng.integers(SERIES))
                values[at, before:] *= 1 + size
                night = judge(values)
                count += at in night.suspects | night.regressions
            order = "shuffled" if shuffled else "in order"
            print(f"{order}, +{size:.0%} on the first night: {count / trials:.3f} of {trials}")


def events(nights: int = 50, before: int = 40) -> None:
    """What happens to all series together, and results that are missing."""
    rng = np.random.default_rng(44)
    everything: list[tuple[str, Callable[[Array], tuple[Array, NDArray[np.bool_] | None]]]] = [
        ("machine 20 % slower, 1st night", lambda v: (_shifted(v, 1, 1.2), None)),
        ("machine 20 % slower, 3rd night", lambda v: (_shifted(v, 3, 1.2), None)),
        ("machine 20 % slower, 8th night", lambda v: (_shifted(v, 8, 1.2), None)),
        ("weekends 10 % slower", lambda v: (_weekends(v, 1.1), None)),
        ("a third of the nights missing", lambda v: (v, rng.random(v.shape) > 0.33)),
        ("three weeks missing", lambda v: (v, _without_weeks(v))),
    ]
    for name, change in everything:
        quiet = []
        first = third = 0
        for _ in range(nights):
            values, keep = change(gaussian(rng, (SERIES, before + 1), 0.02))
            quiet.append(judge(values, keep))
            values, keep = change(gaussian(rng, (SERIES, before + 3), 0.02))
            at = int(rng.integers(SERIES))
            values[at, -3:] *= 1.5
            if keep is not None:
                keep[at, -3:] = True
            night = judge(values[:, :-2], None if keep is None else keep[:, :-2])
            first += at in night.suspects | night.regressions
            third += at in judge(values, keep).regressions
        _print_alarms(name, quiet)
        print(f"    +50 %: 1st night {first / nights:.2f}, 3rd {third / nights:.2f} of {nights}")


def _shifted(values: Array, newest: int, factor: float) -> Array:
    values[:, -newest:] *= factor
    return values


def _weekends(values: Array, factor: float) -> Array:
    """The last night is a Saturday."""
    days = np.arange(values.shape[1])[::-1] % 7
    values[:, (days == 0) | (days == 6)] *= factor
    return values


def _without_weeks(values: Array) -> NDArray[np.bool_]:
    keep = np.ones(values.shape, dtype=bool)
    keep[:, -22:-1] = False
    return keep


def main(what: int | str = "hits", *rest: int | str) -> None:
    commands: dict[str, Callable[..., None]] = {
        "hits": hits,
        "alarms": alarms,
        "real": real,
        "smallest": smallest,
        "events": events,
    }
    commands[str(what)](*rest)


if __name__ == "__main__":
    main(*(int(word) if word.isdecimal() else word for word in sys.argv[1:]))
