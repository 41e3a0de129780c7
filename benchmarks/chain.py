"""Is a small slow-down of real work found, confirmed and bisected, and nothing else?

    python benchmarks/chain.py chain [--tries 10] [--seed 0] [--slower 0.05] [--kind python]
    python benchmarks/chain.py nights [--nights 20]

`chain` makes a throw-away git repository of 30 commits of a workload file, of which one does 5 %
more work. Commit by commit, as a CI would, it measures the file and runs `assay.check` with
`confirm`; once a regression is confirmed, `assay.bisect` looks for the commit between the two that
the check named. A try counts where that commit is the one. After the last commit a few nights more
measure that one.

`nights` measures a file whose commits are all equal, the last three times while something else made
it look slower; then each night is one check with `confirm`, whose ab really runs. None may be
confirmed. Both print a line of JSON for each try or night.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import assay
from assay.commands.check.api import CheckedSeries
from assay.core.records import Query

ROOT = Path(assay.__file__).parents[1]
COMMITS = 30
AFTER = 5  # nights on which the last commit is measured once more
BEFORE = 12  # commits, at least, before the slow one: a check needs some points to tell
WORK = {
    "python": """\
def work():
    def step():
        total = 0
        for number in range({amount}):
            total += number * number % 7
        return total

    return step
""",
    "numpy": """\
import numpy


def work():
    values = numpy.arange({amount} * 4, dtype="float64")
    return lambda: float(numpy.sqrt(values * 1.5 + 2.0).sum())
""",
}
# Long enough that in each process some steps are done while nobody else has the core's caches
# and its other thread: on a shared machine that lasts longer than a hundred steps.
PROCEDURE = ("--processes", "5", "--budget", "4s")
AMOUNT = 40_000  # a few milliseconds, so that many a step is done without being interrupted


class Repository:
    """A workload file under git, in a folder of its own, with a home for results beside it."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.kind = folder / "repository", kind
        self.home = folder / "home"
        self.folder.mkdir()
        self.file = self.folder / "bench.py"
        self.commits: list[str] = []
        self._git("init", "-q")
        os.chdir(self.folder)  # commits are those of the repository one stands in

    @property
    def case(self) -> str:
        return f"{self.file}:work@python"

    def write(self, amount: int) -> None:
        self.file.write_text(WORK[self.kind].format(amount=amount))

    def commit(self, amount: int) -> None:
        self.write(amount)
        number = len(self.commits)
        self.file.write_text(f"{self.file.read_text()}\n# commit {number}\n")
        self._git("add", ".")
        self._git("commit", "-qm", f"commit {number}")
        self.commits.append(self._git("rev-parse", "HEAD"))

    def measure(self) -> None:
        """In a process of its own: a process knows one commit only."""
        words = ["run", self.case, *PROCEDURE, "--home", str(self.home)]
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        ended = subprocess.run(
            [sys.executable, "-m", "assay", *words],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode:
            raise SystemExit(f"it could not be measured:\n{ended.stderr[-2000:]}")

    def checked(self, given: argparse.Namespace) -> CheckedSeries | None:
        """The one series of the file; None where there are too few points yet."""
        limits = [f"{given.metric}:3%"]
        found = assay.check(
            fail_on=limits, confirm=True, budget=given.budget, query=Query(), store=self.home
        ).found
        return found[0] if found else None

    def commit_of(self, result_id: str) -> str:
        (reading,) = assay.read_results(Query(ids=(result_id,)), store=self.home)
        return str(reading.result.environment.git["commit"])

    def _git(self, *words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        command = ["git", *who, *words]
        return subprocess.run(
            command, cwd=self.folder, check=True, capture_output=True, text=True
        ).stdout.strip()


def chain(given: argparse.Namespace) -> None:
    right = 0
    for number in range(given.tries):
        with tempfile.TemporaryDirectory() as place:
            found = one_chain(Repository(Path(place), given.kind), given.seed + number, given)
        right += bool(found["right"])
        print(json.dumps({**found, "right so far": f"{right} of {number + 1}"}), flush=True)


def one_chain(made: Repository, seed: int, given: argparse.Namespace) -> dict[str, object]:
    slow = random.Random(seed).randrange(BEFORE, COMMITS - 3)
    start = time.monotonic()
    told: dict[str, object] = {"seed": seed, "slow": slow, "right": False}
    refuted = 0
    for number in range(COMMITS + AFTER):
        if number < COMMITS:
            made.commit(AMOUNT if number < slow else round(AMOUNT * (1 + given.slower)))
        made.measure()
        found = made.checked(given) if number >= BEFORE - 2 else None
        if found and found.outcome:
            refuted += found.outcome != "confirmed"
            said = f"{found.size:.4f} {found.outcome}: {found.confirmation}"
            print(f"commit {number}, slow {slow}: {said}", file=sys.stderr, flush=True)
        if found and found.outcome == "confirmed":
            told |= {"confirmed at": number, "size": found.size, "how": found.confirmation}
            told |= bisected(made, found, given)
            told["right"] = told["commits"] == [slow]
            break
    return {**told, "not confirmed": refuted, "seconds": round(time.monotonic() - start)}


def bisected(
    made: Repository, found: CheckedSeries, given: argparse.Namespace
) -> dict[str, object]:
    ends = [made.commit_of(one) for one in (found.baseline_id, found.candidate_id)]
    (*_, last) = assay.bisect(
        made.case, ends[0], ends[1], metric=given.metric, budget=given.budget, store=made.home
    )
    return {
        "between": [made.commits.index(end) for end in ends],
        "commits": [made.commits.index(one) for one in last.suspects],
        "chance": last.chance,
        "effect": last.effect,
        "comparisons": len(last.tried),
        "ended": last.ended,
    }


def nights(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as place:
        made = Repository(Path(place), given.kind)
        for number in range(BEFORE + 3):
            made.commit(AMOUNT)
            if number >= BEFORE:  # as if something else had run beside it
                made.write(round(AMOUNT * 1.15))
            made.measure()
        tally: dict[str, int] = {}
        for night in range(given.nights):
            start = time.monotonic()
            found = made.checked(given)
            outcome = (found and found.outcome) or "no suspicion"
            tally[outcome] = tally.get(outcome, 0) + 1
            told: dict[str, object] = {"night": night + 1, "outcome": outcome, "tally": tally}
            told |= {"how": found.confirmation, "suspected": found.size} if found else {}
            print(json.dumps({**told, "seconds": round(time.monotonic() - start)}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("chain", "nights"))
    parser.add_argument("--tries", type=int, default=10)
    parser.add_argument("--nights", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slower", type=float, default=0.05)
    parser.add_argument("--kind", choices=sorted(WORK), default="python")
    parser.add_argument("--metric", default="min", help="as of assay check and ab")
    parser.add_argument("--budget", default="150s", help="of each comparison")
    given = parser.parse_args()
    {"chain": chain, "nights": nights}[given.what](given)


if __name__ == "__main__":
    main()
