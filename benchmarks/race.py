"""Does `assay race` end with the best, and for how little sampling?

    python benchmarks/race.py record 3      # full heats: all contenders warm, one after the other
    python benchmarks/race.py               # the report, from what is kept

Contenders are vgg16-cifar10 in inference, six backends and settings with two batch sizes. A full
heat has a fresh process of each, all warm at once, taking turns: the long interleaved reference.
The report plays races on them: a heat of a race is drawn from the full heats, and holds the turns
of those whom the race would have let run. Beside it: what measuring each alone to ± 1 % takes.
"""

from __future__ import annotations

import math
import random
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.commands.race import ranking
from assay.commands.race.state import MIN_TURNS, needs_turns
from assay.core.executor import CaseDir
from assay.core.records import Case, Procedure, Result, Samples
from assay.measure import plan
from assay.measure.case import HeatEntry
from assay.measure.heat import MAX_OPEN_CASES, Heat, run_heat
from assay.measure.sampling import TURN
from assay.stats import paired_ratio, stopping
from assay.stats.estimates import running_estimate

DATA = Path(__file__).parent / "data" / "race.npz"
BACKENDS = (
    "keras-tensorflow:compiler=off",
    "native",
    "onnxruntime",
    "openvino",
    "torch",
    "torch:data_format=channels_last",
)
SIZES = (12, 16)
TURNS = 12
TRIALS = 200

Array = NDArray[np.float64]


def contenders() -> dict[str, Case]:
    found = plan.expand_cases(
        [f"vgg16-cifar10:batch_size={size}@{backend}" for backend in BACKENDS for size in SIZES],
        options={"mode": ["infer"]},
    )
    return {case.key: case for case in found}


def record(count: int) -> None:
    cases = contenders()
    kept = dict(np.load(DATA)) if DATA.exists() else {}
    for number in range(count):
        with tempfile.TemporaryDirectory() as folder:
            entries = [_entry(name, case, Path(folder)) for name, case in cases.items()]
            heat = run_heat(entries, Procedure(budget=2.0), _ignore, _unfinished, seed=number)
        for name, result in heat.results.items():
            print(number, name, result.status, result.reason, flush=True)
            row = np.array([paired_ratio.turns(result, "step_time")], dtype=np.float32)
            kept[name] = np.concatenate([kept[name], row]) if name in kept else row
        np.savez_compressed(DATA, **kept)


def report() -> None:
    """Of the whole field, and of the closer one that is left without its clear winners."""
    whole = {name: values.astype(np.float64) for name, values in np.load(DATA).items()}
    _report(whole)
    print("without native:")
    _report({name: values for name, values in whole.items() if "@native" not in name})


def _report(steps: Mapping[str, Array]) -> None:
    items = {name: int(contenders()[name].params["batch_size"]) for name in steps}
    kept = {name: values / items[name] for name, values in steps.items()}
    middles = {name: float(np.exp(np.mean(_levels(kept, name)))) for name in kept}
    best = min(middles.values())
    heats = len(next(iter(kept.values())))
    print(f"{len(kept)} contenders, {heats} full heats of {TURNS} turns")
    for name, middle in sorted(middles.items(), key=lambda pair: pair[1]):
        spread = np.std(_levels(kept, name), ddof=1)
        print(f"  x {middle / best:.3f}  {name}  (process to process {spread:.1%})")
    draw = random.Random(1)
    found = [_race(steps, items, draw) for _ in range(TRIALS)]
    near = np.mean([middles[name] / best <= 1.02 for name, _ in found])
    spent = float(np.median([seconds for _, seconds in found]))
    each = sum(_alone(values) for values in steps.values())
    print(f"{TRIALS} races end within 2 % of the best in {near:.1%}")
    print(f"sampling: {spent:.0f} s; each alone to ± 1 %: {each:.0f} s; {spent / each:.0%} of it")


def _levels(kept: Mapping[str, Array], name: str) -> Array:
    """Logarithms of a contender's medians, each full heat's own pace taken out."""
    whole = np.array([np.median(np.log(values), axis=1) for values in kept.values()])
    mine = np.median(np.log(kept[name]), axis=1)
    found: Array = mine - whole.mean(axis=0) + whole.mean()
    return found


def _race(
    kept: Mapping[str, Array], items: Mapping[str, int], draw: random.Random
) -> tuple[str, float]:
    """Who is first at the end, and the seconds of turns it took."""
    names = list(kept)
    rules = ranking.decision_rule(len(names), 0.02)
    heats: list[ranking.HeatSummary] = []
    seconds = 0.0
    places = ranking.rank(names, heats, {}, rules)
    while chosen := ranking.next_heat(places, heats, rules, MAX_OPEN_CASES):
        number = draw.randrange(len(kept[names[0]]))
        turns = {name: kept[name][number] for name in chosen}
        count = _count(turns, rules)
        seconds += sum(max(TURN, float(row[:count].mean())) * count for row in turns.values())
        results = {name: _result(name, row[:count], items[name]) for name, row in turns.items()}
        heats.append(ranking.summarize_heat(results))
        places = ranking.rank(names, heats, {}, rules)
    return places[0].key, seconds


def _count(turns: Mapping[str, Array], rules: paired_ratio.DecisionRule) -> int:
    """How many turns the heat would have had."""
    for count in range(MIN_TURNS, TURNS):
        taken = {name: [_part(value) for value in row[:count]] for name, row in turns.items()}
        if not needs_turns(Heat(turns=taken, opening=20.0), rules, math.inf):
            return count
    return TURNS


def _alone(values: Array) -> float:
    """Seconds until the rule of `assay run` finds ± 1 %, a value being what a turn has brought:
    the mean over the full heats, drawn at random from each, as if without memory."""
    return float(np.mean([_until_narrow(row) for row in values]))


def _until_narrow(row: Array) -> float:
    drawn = np.random.default_rng(1).choice(row, 1500)
    looks: list[bool] = []
    count = 0
    while not stopping.is_confirmed(looks) and count < len(drawn):
        count = min(stopping.next_look(count), len(drawn))
        looks.append(stopping.is_narrow(running_estimate(drawn[:count].tolist()), 0.01))
    return count * max(TURN, float(drawn.mean()))


def _part(value: float) -> Samples:
    return Samples(metric="step_time", unit="s", phase="steady", values=(value,))


def _result(name: str, turns: Array, items: int) -> Result:
    return Result(
        id=name,
        case=Case(workload=name, backend="b", key=name),
        procedure=Procedure(),
        status="ok",
        samples=tuple(_part(float(value)) for value in turns),
        items=items,
        tags={"order": paired_ratio.INTERLEAVED},
    )


def _entry(name: str, case: Case, folder: Path) -> HeatEntry:
    place = folder / str(abs(hash(name)))
    place.mkdir()
    return HeatEntry(name, case, CaseDir(name, place))


def _unfinished(heat: Heat) -> bool:
    return any(len(taken) < TURNS for taken in heat.turns.values())


def _ignore(*_: object) -> None:
    pass


if __name__ == "__main__":
    record(int(sys.argv[2])) if sys.argv[1:2] == ["record"] else report()
