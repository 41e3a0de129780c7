"""How often does the detector err, what does it find, and how do others fare on the same series?

    python benchmarks/changepoints.py rates [SERIES [PROCESSES]]    no change; steps of 1 to 3 sigma
    python benchmarks/changepoints.py nights WHAT …      the gate night by night, see nights.py
    python benchmarks/changepoints.py speed              the 10,000th point, a history of 10,000
    python benchmarks/changepoints.py peers FOLDER [SERIES [PEER]]

`peers` makes a virtual environment for ruptures, apache-otava and asv each in FOLDER, runs each on
the same series, and tells the mean F1 (a shift is right within 2 points; a series without a change
counts 1 where nothing is found). Their settings are chosen on other series of the same kinds, from
those that their documents name.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.core.series import Point
from assay.stats import shift_search, trend

Array = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int, int], Array]
PACKAGES = {"ruptures": "ruptures", "otava": "apache-otava", "asv": "asv"}
NEAR = 2  # points


def gaussian(rng: np.random.Generator, count: int, length: int) -> Array:
    return rng.standard_normal((count, length))


def correlated(rng: np.random.Generator, count: int, length: int, phi: float = 0.5) -> Array:
    """AR(1) with a standard deviation of 1."""
    found = rng.standard_normal((count, length))
    for place in range(1, length):
        found[:, place] *= np.sqrt(1 - phi**2)
        found[:, place] += phi * found[:, place - 1]
    return found


def with_outliers(rng: np.random.Generator, count: int, length: int) -> Array:
    """5 % are 5 to 15 sigma off, to either side."""
    found = rng.standard_normal((count, length))
    off = rng.random(found.shape) < 0.05
    sides = rng.choice([-1, 1], found.shape)
    return np.asarray(found + off * sides * rng.uniform(5, 15, found.shape))


def bimodal(rng: np.random.Generator, count: int, length: int) -> Array:
    """Seven of ten in one mode, three in another 6 sigma above."""
    return rng.standard_normal((count, length)) + 6 * (rng.random((count, length)) < 0.3)


NOISES: dict[str, Noise] = {
    "gaussian": gaussian,
    "AR(1) 0.5": correlated,
    "5 % outliers": with_outliers,
    "70/30 bimodal": bimodal,
}


def found_in(values: Array) -> list[int]:
    return shift_search.find(shift_search.Track(values, np.zeros(len(values)), False))


def rates(series: int = 1000, processes: int = 1) -> None:
    """Each line has series of its own seed, so that one of them can be had again by itself."""
    unchanged = [(name, length) for length in (50, 200) for name in NOISES]
    stepped = [(name, sigma) for name in NOISES for sigma in (1, 2, 3)]
    seeds = (np.random.default_rng([19, number]) for number in itertools.count())
    with ProcessPoolExecutor(processes) as pool:
        spread = partial(pool.map, found_in, chunksize=4)
        print(f"no change: share of {series} series with a shift")
        for name, length in unchanged:
            wrong = sum(map(bool, spread(NOISES[name](next(seeds), series, length))))
            print(f"  {name:14} n = {length:3}: {wrong / series:.4f}", flush=True)
        print("step at 60 of 100: share found within 2 points (all shifts found; best possible)")
        for name, sigma in stepped:
            values = NOISES[name](next(seeds), series, 100)
            values[:, 60:] += sigma
            told = step_found(list(spread(values)), values, sigma, name)
            print(f"  {name:14} {sigma} sigma: {told}", flush=True)


def step_found(places: list[list[int]], values: Array, sigma: int, name: str) -> str:
    series = len(places)
    hits = sum(any(abs(place - 60) <= NEAR for place in found) for found in places)
    phi = {"gaussian": 0.0, "AR(1) 0.5": 0.5}.get(name)
    best = float("nan") if phi is None else oracle(values, sigma, phi)
    return f"{hits / series:.3f} ({sum(map(len, places)) / series:.2f}; {best:.3f})"


def oracle(values: Array, sigma: float, phi: float) -> float:
    """Share hit by one who knows all but the place: both levels, the noise and its correlation."""
    length = values.shape[1]
    steps = sigma * (np.arange(length) >= np.arange(length)[:, None])
    costs = np.stack([_cost(values - step, phi) for step in steps], axis=1)
    return float(np.mean(np.abs(costs.argmin(1) - 60) <= NEAR))


def _cost(noise: Array, phi: float) -> Array:
    later = (noise[:, 1:] - phi * noise[:, :-1]) ** 2 / (1 - phi**2)
    found: Array = noise[:, 0] ** 2 + later.sum(1)
    return found


def nights(*words: int | str) -> None:
    """The gate, night by night: see nights.py."""
    from nights import main

    main(*words)


def speed() -> None:
    rng = np.random.default_rng(21)
    values = np.exp(0.01 * rng.standard_normal(10_000)).tolist()
    points = [Point("", "", "", "", value, value * 0.99, value * 1.01) for value in values]
    for size in (100, 1_000, 10_000):
        tracker = trend.Tracker()
        tracker.window, tracker.count = points[max(0, size - trend.WINDOW) : size], size
        times = []
        for point in points[:200]:
            start = time.perf_counter()
            tracker.append(point)
            times.append(time.perf_counter() - start)
        print(f"point {size + 1}: {1e3 * float(np.median(times)):.3f} ms (median of 200)")
    for _ in range(3):
        start, busy = time.perf_counter(), time.process_time()
        trend.history(points)
        wall, cpu = time.perf_counter() - start, time.process_time() - busy
        print(f"a history of 10,000 points: {wall:.3f} s, of which {cpu:.3f} s on a CPU")


Series = tuple[Array, list[int]]  # values, places of true shifts


def scenarios(rng: np.random.Generator, each: int) -> list[Series]:
    """Every noise without a change, with one step of 1, 2, 3 sigma, a bump, and three steps."""
    shapes: list[dict[int, float]] = [
        {},
        *({60: float(sigma)} for sigma in (1, 2, 3)),
        {40: 3.0, 60: 0.0},
        {30: 2.0, 60: 5.0, 80: 2.0},
    ]
    found = []
    for noise in NOISES.values():
        for shape in shapes:
            for row in noise(rng, each, 100):
                for place, level in sorted(shape.items()):
                    row[place:] += level - _before(shape, place)
                found.append((row + 100, sorted(shape)))  # far from 0, as times are
    return found


def _before(shape: dict[int, float], place: int) -> float:
    earlier = [other for other in shape if other < place]
    return shape[max(earlier)] if earlier else 0.0


def f1(found: Sequence[int], true: Sequence[int]) -> float:
    """Each true shift is matched once."""
    if not true and not found:
        return 1.0
    left, hits = list(found), 0
    for place in true:
        near = [one for one in left if abs(one - place) <= NEAR]
        if near:
            left.remove(min(near, key=lambda one: abs(one - place)))
            hits += 1
    return 2 * hits / (len(found) + len(true))


# Runs in the peer's own environment: settings and series in, shifts out.
CHILD = r"""
import json, sys
name, setting, rows = json.load(sys.stdin)
def ruptures_(row):
    import numpy as np, ruptures
    values = np.array(row); sigma = np.median(abs(np.diff(values))) * 1.4826 / 2 ** 0.5
    found = ruptures.Pelt(model=setting["model"], min_size=3, jump=1).fit(values / max(sigma, 1e-9))
    return found.predict(pen=setting["pen"] * np.log(len(row)))[:-1]
def otava_(row):
    from otava.analysis import compute_change_points
    points, _ = compute_change_points(list(row), window_len=setting["window"],
        max_pvalue=setting["p"], min_magnitude=setting["magnitude"])
    return [int(point.index) for point in points]
def asv_(row):
    from asv.step_detect import detect_steps
    return [int(step[0]) for step in detect_steps(list(row))[1:]]
print(json.dumps([[int(p) for p in globals()[name + "_"](row)] for row in rows]))
"""
SETTINGS: dict[str, list[dict[str, object]]] = {
    "ruptures": [
        {"model": model, "pen": pen} for model in ("l2", "rbf", "l1") for pen in (1, 2, 3, 5, 8)
    ],
    "otava": [
        {"window": window, "p": p, "magnitude": 0.0}
        for window in (30, 50)
        for p in (1e-2, 1e-3, 1e-4, 1e-5)
    ],
    "asv": [{}],
}


def peers(folder: str, each: int = 25, only: str = "") -> None:
    trained = scenarios(np.random.default_rng(23), max(2, each // 5))
    tested = scenarios(np.random.default_rng(25), each)  # never looked at while tuning
    ours = [found_in(row) for row, _ in tested]
    _told("assay", {}, ours, tested)
    for name in [only] if only else PACKAGES:
        python = environment(Path(folder), name)
        best = max(
            SETTINGS[name],
            key=lambda setting: mean_f1(asked(python, name, setting, trained), trained),
        )
        _told(name, best, asked(python, name, best, tested), tested)


def environment(folder: Path, name: str) -> Path:
    """A virtual environment of its own for each."""
    place = folder / f"peer-{PACKAGES[name]}"
    python = place / "bin" / "python"
    if not python.exists():
        venv.create(place, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", PACKAGES[name]], check=True)
    return python


def asked(
    python: Path, name: str, setting: dict[str, object], series: Sequence[Series]
) -> list[list[int]]:
    rows = [row.tolist() for row, _ in series]
    done = subprocess.run(
        [python, "-c", CHILD],
        input=json.dumps([name, setting, rows]),
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[list[int]] = json.loads(done.stdout.splitlines()[-1])
    return found


def mean_f1(found: Iterable[Sequence[int]], series: Sequence[Series]) -> float:
    return float(np.mean([f1(one, true) for one, (_, true) in zip(found, series, strict=True)]))


def _told(
    name: str, setting: dict[str, object], found: list[list[int]], series: list[Series]
) -> None:
    print(f"{name:9} mean F1 {mean_f1(found, series):.3f}  {setting}", flush=True)
    each = len(series) // (len(NOISES) * 6)
    for number, noise in enumerate(NOISES):
        parts = [
            mean_f1(found[at : at + each], series[at : at + each])
            for at in range(number * 6 * each, (number + 1) * 6 * each, each)
        ]
        print(f"    {noise:14}", " ".join(f"{part:.2f}" for part in parts), flush=True)


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["rates"]
    verbs: dict[str, Callable[..., None]] = {
        "rates": rates,
        "nights": nights,
        "speed": speed,
        "peers": peers,
    }
    verbs[what](*(int(word) if word.isdecimal() else word for word in rest))
