"""What Ray adds to a case of ten seconds: wall time on a cluster of one node, over that here.

Both in turns. A case lasts from the result before it to its own, so that starting assay and
connecting, once for a whole plan, are told apart. The cluster is started here, in a network
namespace of its own.

    python benchmarks/cluster.py [--rounds 3] [--cases 2]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.platforms import ray_nodes

CASE = """import time


def slow(size=1):
    return lambda: time.sleep(0.5)
"""
SAMPLING = ("--samples", "15", "--steps-per-sample", "1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", type=int, default=2)
    given = parser.parse_args()
    here: list[float] = []
    there: list[float] = []
    first: list[float] = []
    with tempfile.TemporaryDirectory() as folder, ray_nodes.running() as nodes:
        (Path(folder) / "slow.py").write_text(CASE)
        nodes.start("one", {"ASSAY_HOME": f"{folder}/node"})
        sizes = ",".join(str(number) for number in range(given.cases + 1))
        words = ("run", f"{folder}/slow.py:slow@python", "--set", f"size={sizes}", *SAMPLING)
        for number in range(given.rounds):
            home = Path(folder) / f"home{number}"
            here += ends(local(words, home))[1:]
            cluster = ends(nodes.assay(*words, "--on", ray_nodes.ADDRESS, home=home))
            first.append(cluster[0])
            there += cluster[1:]
    ratios = [two / one for one, two in zip(here, there, strict=True)]
    print(f"a case here: median {statistics.median(here):.2f} s of {len(here)}")
    print(f"a case through Ray: median {statistics.median(there):.2f} s")
    print(f"ratio: median {statistics.median(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}")
    print(f"until the first result of a run, connecting included: {statistics.median(first):.1f} s")


def local(words: tuple[str, ...], home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(ray_nodes.BIN / "assay"), *words],
        env=os.environ | {"ASSAY_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ends(driver: subprocess.Popen[str]) -> list[float]:
    """Seconds from the start to the first result, and from each to the next."""
    found, last = [], time.perf_counter()
    assert driver.stderr is not None
    for line in driver.stderr:
        if " ok, " in line:
            now = time.perf_counter()
            found.append(now - last)
            last = now
    assert driver.wait() == 0
    return found


if __name__ == "__main__":
    main()
