"""Is an interval over five processes right about the next forty, and one process' own too narrow?

python benchmarks/processes.py record benchmarks/data/processes.npz    # about five minutes
python benchmarks/processes.py                                         # from what is kept
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from assay.core.executor import CaseDir
from assay.core.records import Procedure
from assay.measure import plan
from assay.measure.case import measure_case
from assay.stats import estimates
from assay.stats.intervals import interval_over_processes, quantile

DATA = Path(__file__).parent / "data" / "processes.npz"
CASE = "cifar10-cnn:batch_size=4@torch:device=cpu,threads=1"
PROCESSES = 48
ASKED = 5
FURTHER = 40
TRIALS = 1000


def record(path: Path) -> None:
    """All the processes of one case, as `assay run --processes 48` takes them."""
    case = plan.expand_cases([CASE], [], {}, {})[0]
    procedure = Procedure(processes=PROCESSES, samples=150, budget=PROCESSES, timeout=1500)
    with tempfile.TemporaryDirectory() as folder:
        result = measure_case(case, procedure, CaseDir("run/001", Path(folder)), lambda _: None)
    print(result.status, result.reason, f"{result.seconds:.0f} s")
    values = [part[:150] for part in estimates.process_values(result, "step_time")]
    np.savez_compressed(path, values=np.array(values, dtype=np.float32))


def report(path: Path) -> None:
    with np.load(path) as kept:
        values = kept["values"].astype(np.float64)
    middles = np.median(values, axis=1)
    inside = [quantile(row) for row in values]
    random = np.random.default_rng(0)
    over = alone = 0
    widths = []
    for _ in range(TRIALS):
        order = random.permutation(len(middles))
        truth = float(np.median(middles[order[ASKED : ASKED + FURTHER]]))
        several = interval_over_processes(middles[order[:ASKED]].tolist())
        one = inside[order[0]]
        over += several.low <= truth <= several.high
        alone += one.low <= truth <= one.high
        widths.append(several.half_width / several.value)
    own = float(np.median([e.half_width / e.value for e in inside]))
    spread = middles.std(ddof=1) / middles.mean()
    low, high = 1e3 * middles.min(), 1e3 * middles.max()
    print(f"{CASE}: {len(middles)} processes of {values.shape[1]} samples")
    print(f"medians from {low:.3f} to {high:.3f} ms, spread {spread:.1%}")
    print(f"interval over {ASKED} processes: covers {over / TRIALS:.1%}, ± {np.median(widths):.1%}")
    print(f"interval of one process: covers {alone / TRIALS:.1%}, ± {own:.1%}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        record(Path(sys.argv[2]))
    else:
        report(Path(sys.argv[1]) if sys.argv[1:] else DATA)
