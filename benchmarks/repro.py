"""Does `assay repro` say "reproduced" of what is the same, and see and name what is not?

    python benchmarks/repro.py [--home FOLDER] [--processes 1] [--parts same] > repro.json

Ten cases (Python functions, and nets on those of jax and torch that are here) are measured, then
each is reproduced (A/A). Then the functions do 10 % and 25 % more work, which has to be seen: an
answer is false where it differs though nothing changed, or is reproduced within less than did. Then
one is held against itself with another batch, another option and another package, which have to be
named. Sentences are on standard error, JSON on standard output.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

import assay
from assay.commands.repro.answer import Reproduction
from assay.core.records import Query, Result
from assay.core.registry import open_store

FUNCTIONS = """\
import json

TIMES = {times}  # so often a step does its work; 20, and a tenth or a quarter more


def total(size=1000):
    numbers = range(size)
    return lambda: [sum(numbers) for _ in range(TIMES)]


def ordered(size=300):
    numbers = [n * 7919 % size for n in range(size)]
    return lambda: [sorted(numbers) for _ in range(TIMES)]


def written(size=100):
    record = {{str(n): n for n in range(size)}}
    return lambda: [json.dumps(record) for _ in range(TIMES)]


def product(size=96):
    import numpy

    matrix = numpy.ones((size, size), "float32")
    return lambda: [matrix @ matrix for _ in range(TIMES)]
"""
TIMES, MORE = 20, (22, 25)
NAMES = ("total", "ordered", "written", "product")
PARTS = ("same", "slower", "changed")
SECONDS = 4  # of sampling a process: on a shared host one second may be slow throughout
NETS = ("mnist-mlp:units=64", "mnist-mlp:units=64,batch_size=128", "mnist-mlp:units=256")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", default="", help="folder results are kept in; default: a new one")
    parser.add_argument("--processes", type=int, default=1, help="of each result reproduced")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="default: all")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        home = given.home or str(Path(place) / "home")
        file = Path(place) / "functions.py"
        file.write_text(FUNCTIONS.format(times=TIMES))
        functions = [f"{file}:{name}@python" for name in NAMES]
        backends = [name for name in ("jax", "torch") if find_spec(name)]
        nets = [f"{net}@{backend}:threads=1" for net in NETS for backend in backends]
        results = measured(functions, given.processes, home)
        homes = [shutil.copytree(home, Path(place) / f"slower-{times}") for times in MORE]
        told: dict[str, object] = {}
        if "same" in given.parts:
            told |= same(results + measured(nets, given.processes, home), home)
        if "slower" in given.parts:
            told["slower"] = slower(results, file, homes)
        if "changed" in given.parts and backends:
            (first,) = measured([f"{NETS[0]}@{backends[-1]}"], 1, home)
            told["changed"] = changed(first, home)
        print(json.dumps(told, indent=1))


def measured(cases: list[str], processes: int, home: str) -> list[Result]:
    found = []
    for case in cases:
        found += list(assay.run(case, budget=SECONDS * processes, processes=processes, store=home))
    return found


def same(results: list[Result], home: str) -> dict[str, object]:
    rows = [reproduced(result, home) for result in results]
    right = sum(row["answer"] == "reproduced" for row in rows)
    return {"reproduced": f"{right} of {len(rows)}", "same": rows}


def slower(results: list[Result], file: Path, homes: list[Path]) -> dict[str, object]:
    """The functions with more to do in a step than when they were measured; each time in a home
    that has nothing but those measurements."""
    told: dict[str, object] = {}
    for times, home in zip(MORE, homes, strict=True):
        file.write_text(FUNCTIONS.format(times=times))
        share = times / TIMES - 1
        rows = [reproduced(result, str(home)) for result in results]
        seen = sum(row["answer"] == "differs" for row in rows)
        false = sum(row["answer"] == "reproduced" and row["within"] < share for row in rows)
        told[f"{share:.0%}"] = {
            "seen": f"{seen} of {len(rows)}",
            "called reproduced within less": false,
            "rows": rows,
        }
    return told


def reproduced(result: Result, home: str) -> dict[str, Any]:
    found = assay.repro(result.id, store=home)
    key = result.case.key.rpartition("/")[2]
    print(f"{key:50} {found.sentence}", file=sys.stderr, flush=True)
    told = re.search(r"within ([0-9.]+) %", found.sentence)
    spans = {
        name: ratio and [ratio.value, ratio.low, ratio.high]
        for name, ratio in (("ratio", found.ratio), ("fastest", found.fastest))
    }
    within = float(told[1]) / 100 if told else None
    return {"case": key, "answer": found.answer, "within": within} | spans | _why(found)


def _why(found: Reproduction) -> dict[str, object]:
    return {"sentence": found.sentence, "named": list(found.changed)}


def changed(first: Result, home: str) -> dict[str, object]:
    """The net, with one thing changed at a time."""
    backend = first.case.backend
    settings: Any = {"samples": 20, "budget": "2s", "home": home}
    others = {
        "batch": next(iter(assay.run(f"mnist-mlp:units=64,batch_size=64@{backend}", **settings))),
        "option": next(iter(assay.run(f"mnist-mlp:units=64@{backend}:threads=1", **settings))),
        "package": _with_package(first, backend, home),
    }
    told: dict[str, object] = {}
    for what, other in others.items():
        found = assay.repro(first.id, against=other.id, store=home)
        told[what] = {"answer": found.answer} | _why(found)
        named = ", ".join(found.changed) or "nothing"
        print(f"{what}: {found.sentence}; named: {named}", file=sys.stderr)
    return told


def _with_package(result: Result, name: str, home: str) -> Result:
    """As if another version had been there: two of them cannot be installed at once."""
    replace = msgspec.structs.replace
    packages = {**result.environment.packages, name: "99.0"}
    with closing(open_store(home)) as store:
        run = store.new_run(store.plan(result.run))
        (run / "001").mkdir()
        other = replace(
            result,
            id=f"{run.name}/001",
            environment=replace(result.environment, packages=packages),
        )
        store.append(other)
        return next(iter(store.results(Query(ids=(other.id,)))))


if __name__ == "__main__":
    main()
