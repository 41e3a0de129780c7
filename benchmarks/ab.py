"""How often does `assay ab` call identical things different, and how soon does it see 2 and 5 %?

    python benchmarks/ab.py record quiet 16     # so many pairs of each kind; again for more
    python benchmarks/ab.py record busy 16      # beside two bursty neighbours, started here
    python benchmarks/ab.py peers quiet         # pyperf and torch.utils.benchmark on the same work
    python benchmarks/ab.py peers busy
    python benchmarks/ab.py                     # the report, from what is kept

Pairs of fresh processes are recorded once; the report draws from them, with replacement, and plays
the rule of `assay ab` on what it drew. Which of two identical contenders is the baseline is drawn
too. The work is 50 small matrix products against 50, 51 against 50, and 42 against 40.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.commands.ab import pairs as pair
from assay.core.executor import CaseDir
from assay.core.records import Procedure
from assay.measure import plan
from assay.measure.case import HeatEntry
from assay.measure.heat import Heat, run_heat
from assay.measure.sampling import TURN
from assay.stats import paired_ratio, sequential
from assay.stats.intervals import quantile, student
from assay.stats.paired_ratio import PairRatio

HERE = Path(__file__).parent
DATA = HERE / "data" / "ab.npz"
PEERS = HERE / "data" / "ab-peers.json"
WORK = HERE / "loops" / "products.py"
KINDS = {"same": (50, 50), "2 %": (50, 51), "5 %": (40, 42)}
CONDITIONS = ("quiet", "busy")
TURNS = 10  # recorded of each pair
TRIALS = 2000
MOST = 30  # pairs a trial may take
PYPERF_RUNS = {50: 6, 51: 3, 40: 3, 42: 3}
TORCH_RUNS = {50: 20, 51: 10, 40: 10, 42: 10}

Array = NDArray[np.float64]


def main() -> None:
    if sys.argv[1:2] == ["--neighbour"]:
        _be_bursty()
    elif sys.argv[1:2] == ["record"]:
        with _condition(sys.argv[2]):
            record(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1:2] == ["peers"]:
        with _condition(sys.argv[2]):
            record_peers(sys.argv[2])
    else:
        report()


def record(condition: str, count: int) -> None:
    """Pairs of every kind in turn, so that a change of the machine meets all kinds."""
    found: dict[str, list[Array]] = {kind: [] for kind in KINDS}
    for number in range(count):
        for kind, inner in KINDS.items():
            found[kind].append(_pair(inner, 1000 * number + int(time.time())))
            middles = np.log(found[kind][-1])
            print(number, kind, f"{np.median(middles[1] - middles[0]):+.4f}", flush=True)
    kept = dict(np.load(DATA)) if DATA.exists() else {}
    for kind, pairs in found.items():
        name = f"{condition} {kind}"
        earlier = [kept[name]] if name in kept else []
        kept[name] = np.concatenate([*earlier, np.array(pairs, dtype=np.float32)])
    np.savez_compressed(DATA, **kept)


def _pair(inner: tuple[int, int], seed: int) -> Array:
    """Medians of the turns of one fresh pair, as `assay ab` takes them: two rows of TURNS."""
    texts = [f"{WORK}:work:inner={count}@python:threads=1" for count in inner]
    with tempfile.TemporaryDirectory() as folder:
        entries = []
        for side, case in zip(
            pair.SIDES, (plan.expand_cases([text])[0] for text in texts), strict=True
        ):
            place = Path(folder) / side
            place.mkdir()
            entries.append(HeatEntry(side, case, CaseDir(side, place)))
        heat = run_heat(entries, Procedure(budget=5.0), _ignore, _unfinished, seed)
    found = [heat.results[side] for side in pair.SIDES]
    if [result.status for result in found] != ["ok", "ok"]:
        raise SystemExit([result.reason for result in found])
    return np.array([paired_ratio.turns(result, "step_time") for result in found])


def _unfinished(heat: Heat) -> bool:
    return any(len(taken) < TURNS for taken in heat.turns.values())


def _ignore(*_: object) -> None:
    pass


class Trial(NamedTuple):
    verdict: str
    pairs: int
    sampling: float  # seconds of turns


def trial(pairs: Array, draw: random.Random, swap: bool) -> Trial:
    """The rule of `assay ab`, on pairs drawn from those recorded."""
    known: list[PairRatio] = []
    sampling = 0.0
    while len(known) < MOST:
        rows = pairs[draw.randrange(len(pairs))]
        taken = _used(np.log(rows[::-1] if swap and draw.random() < 0.5 else rows), known)
        known.append(taken)
        sampling += taken.turns * 2 * TURN
        found = paired_ratio.decide(tuple(known), paired_ratio.DecisionRule("step_time"))
        if found.verdict != "cannot-tell" and len(known) >= sequential.MIN_PAIRS:
            return Trial(found.verdict, len(known), sampling)
    return Trial("cannot-tell", MOST, sampling)


def _used(logs: Array, known: list[PairRatio]) -> PairRatio:
    """As many of the recorded turns as the rule would have taken."""
    difference = logs[1] - logs[0]
    wanted = paired_ratio.recommended_turns(known, 3.0, 2 * TURN)
    for count in range(paired_ratio.MIN_TURNS, len(difference) + 1):
        estimate = quantile(difference[:count])
        error = estimate.half_width / student(np.inf)
        if error < paired_ratio.MIN_EFFECT / pair.CLOSE_FACTOR or count >= wanted:
            break
    return PairRatio(
        ratio=float(np.exp(estimate.value)), error=error, turns=count, baseline="", candidate=""
    )


def report() -> None:
    kept = np.load(DATA)
    right = {"same": {"same"}, "2 %": {"slower"}, "5 %": {"slower"}}
    print(
        f"{TRIALS} trials each, at most {MOST} pairs, smallest effect {paired_ratio.MIN_EFFECT:.0%}"
    )
    for name in sorted(kept, reverse=True):
        condition, _, kind = name.partition(" ")
        pairs = kept[name].astype(np.float64)
        ratios = np.median(np.log(pairs[:, 1]) - np.log(pairs[:, 0]), axis=1)
        draw = random.Random(1)
        found = [trial(pairs, draw, kind == "same") for _ in range(TRIALS)]
        shares = {v: sum(t.verdict == v for t in found) / TRIALS for v in _VERDICTS}
        well = [t for t in found if t.verdict in right[kind]] or found
        print(
            f"{condition:<6}{kind:<5}{len(pairs):>4} recorded, spread {ratios.std(ddof=1):.2%}, "
            f"middle {np.median(ratios):+.2%}; "
            + ", ".join(f"{verdict} {share:.1%}" for verdict, share in shares.items())
            + f"; right after {np.median([t.pairs for t in well]):.0f} pairs"
            f" (90 %: {np.quantile([t.pairs for t in well], 0.9):.0f}), "
            f"{np.median([t.sampling for t in well]):.1f} s of sampling"
        )
    if PEERS.exists():
        report_peers(json.loads(PEERS.read_text()))


_VERDICTS = ("faster", "slower", "same", "cannot-tell")


def record_peers(condition: str) -> None:
    """Default runs of pyperf, and blocked_autorange of torch, in an environment of their own."""
    kept = json.loads(PEERS.read_text()) if PEERS.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        python = _environment(Path(folder))
        kept[condition] = {
            "pyperf": _pyperf(python, Path(folder)),
            "torch": {n: [_torch(python, n) for _ in range(k)] for n, k in TORCH_RUNS.items()},
        }
    PEERS.write_text(json.dumps(kept))


def _environment(folder: Path) -> str:
    """pyperf from the registry; torch and numpy are this environment's own."""
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = str(folder / "venv" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", "pyperf"], check=True)
    place = next((folder / "venv" / "lib").glob("python*/site-packages"))
    (place / "borrowed.pth").write_text(str(Path(np.__file__).parent.parent))
    return python


def _pyperf(python: str, folder: Path) -> dict[str, Any]:
    """All runs in a drawn order, then every comparison of two of them that `compare_to` makes."""
    todo = [n for n, count in PYPERF_RUNS.items() for _ in range(count)]
    random.Random(2).shuffle(todo)
    files: dict[int, list[Path]] = {n: [] for n in PYPERF_RUNS}
    seconds = []
    for inner in todo:
        file = folder / f"{inner}-{len(files[inner])}.json"
        setup = f"import sys; sys.path.insert(0, {str(WORK.parent)!r}); import products; "
        command = [python, "-m", "pyperf", "timeit", "-q", "-o", str(file)]
        command += ["-s", f"{setup}step = products.work({inner})", "step()"]
        begun = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=_ENVIRONMENT)
        seconds.append(time.monotonic() - begun)
        files[inner].append(file)
        print("pyperf", inner, f"{seconds[-1]:.1f} s", flush=True)
    verdicts = {}
    for kind, (one, other) in KINDS.items():
        both = [(a, b) for a in files[one] for b in files[other] if a != b]
        verdicts[kind] = [_compare_to(python, a, b) for a, b in both]
    return {"seconds": seconds, "verdicts": verdicts}


def _compare_to(python: str, one: Path, other: Path) -> dict[str, Any]:
    """The verdict of pyperf, and the ratio of means that a bare threshold would look at."""
    command = [python, "-m", "pyperf", "compare_to", str(one), str(other)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    verdict = next((word for word in ("slower", "faster") if word in said), "not significant")
    means = [_mean(file) for file in (one, other)]
    return {"verdict": verdict, "ratio": means[1] / means[0]}


def _mean(file: Path) -> float:
    runs = json.loads(file.read_text())["benchmarks"][0]["runs"]
    return float(np.mean([value for run in runs for value in run.get("values", [])]))


def _torch(python: str, inner: int) -> float:
    code = (
        f"import sys; sys.path.insert(0, {str(WORK.parent)!r}); import products\n"
        "from torch.utils.benchmark import Timer\n"
        f"timer = Timer('step()', globals={{'step': products.work({inner})}})\n"
        "print(timer.blocked_autorange().median)\n"
    )
    command = [python, "-c", code]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, env=_ENVIRONMENT)
    return float(ran.stdout)


def report_peers(kept: dict[str, Any]) -> None:
    for condition, found in kept.items():
        whole = float(np.median(found["pyperf"]["seconds"]))
        print(f"\n{condition}: two default pyperf runs take {2 * whole:.1f} s")
        for kind, (one, other) in KINDS.items():
            told = found["pyperf"]["verdicts"][kind]
            wrong = [t["verdict"] != "not significant" for t in told]
            slower = [t["verdict"] == "slower" for t in told]
            bare = [abs(t["ratio"] - 1) > 0.02 for t in told]
            first, second = (found["torch"][str(n)] for n in (one, other))
            ratios = [b / a for i, a in enumerate(first) for j, b in enumerate(second) if i != j]
            torch = np.mean(np.abs(np.array(ratios) - 1) > 0.02)
            print(
                f"  {kind:<5} pyperf: different {np.mean(wrong):.0%}, slower {np.mean(slower):.0%}"
                f" of {len(told)}; a bare 2 % on its means: different {np.mean(bare):.0%}; "
                f"on medians of torch.utils.benchmark: {torch:.0%}"
            )


_ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@contextmanager
def _condition(name: str) -> Iterator[None]:
    """Two neighbours that come and go, where the machine is to be busy."""
    command = [sys.executable, __file__, "--neighbour"]
    neighbours = [subprocess.Popen(command) for _ in range(2 if name == "busy" else 0)]
    try:
        yield
    finally:
        for neighbour in neighbours:
            neighbour.terminate()
            neighbour.wait()


def _be_bursty() -> None:
    """Work for a while, rest for a while, 20 ms to half a second each."""
    while True:
        end = time.monotonic() + random.uniform(0.02, 0.5)
        while time.monotonic() < end:
            sum(range(10_000))
        time.sleep(random.uniform(0.02, 0.5))


if __name__ == "__main__":
    main()
