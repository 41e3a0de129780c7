"""Does `assay repro` say "reproduced" of what is the same, and name what is not?

    python benchmarks/repro.py [--home FOLDER] [--processes 5] > repro.json

Ten cases (Python functions, and nets on those of jax and torch that are here) are measured, then
each is reproduced (A/A). Then one is held against itself with another batch, another option and
another package, which have to be named. Sentences are on standard error, JSON on standard output.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import msgspec

import assay
from assay.core.differences import Reproduction
from assay.core.records import Query, Result
from assay.registry import open_store

FUNCTIONS = """\
import json


def total(size=20000):
    return lambda: sum(range(size))


def ordered(size=5000):
    numbers = [(n * 7919) % size for n in range(size)]
    return lambda: sorted(numbers)


def written(size=2000):
    record = {str(n): n for n in range(size)}
    return lambda: json.dumps(record)


def product(size=128):
    import numpy

    matrix = numpy.ones((size, size), "float32")
    return lambda: matrix @ matrix
"""
NETS = ("mnist-mlp:units=64", "mnist-mlp:units=64,batch_size=128", "mnist-mlp:units=256")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", default="", help="folder results are kept in; default: a new one")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        home = given.home or place
        file = Path(place) / "functions.py"
        file.write_text(FUNCTIONS)
        names = ("total", "ordered", "written", "product")
        cases = [f"{file}:{name}@python" for name in names]
        backends = [name for name in ("jax", "torch") if find_spec(name)]
        cases += [f"{net}@{backend}" for net in NETS for backend in backends]
        results = measured(cases, given.processes, home)
        told: dict[str, object] = same(results, home)
        if backends:
            told["changed"] = changed(results, backends[-1], home)
        print(json.dumps(told, indent=1))


def measured(cases: list[str], processes: int, home: str) -> list[Result]:
    found = []
    for case in cases:
        found += list(assay.run(case, samples=20, budget="2s", processes=processes, home=home))
    return found


def same(results: list[Result], home: str) -> dict[str, object]:
    rows = []
    for result in results:
        found = assay.repro(result.id, home=home)
        key = result.case.key.rpartition("/")[2]
        ratio = found.ratio and [found.ratio.value, found.ratio.low, found.ratio.high]
        rows.append({"case": key, "answer": found.answer, "ratio": ratio} | _why(found))
        print(f"{key:50} {found.sentence}", file=sys.stderr, flush=True)
    reproduced = sum(row["answer"] == "reproduced" for row in rows)
    return {"reproduced": f"{reproduced} of {len(rows)}", "same": rows}


def _why(found: Reproduction) -> dict[str, object]:
    return {"sentence": found.sentence, "named": list(found.changed)}


def changed(results: list[Result], backend: str, home: str) -> dict[str, object]:
    """The net, with one thing changed at a time."""
    first = next(result for result in results if result.case.backend == backend)
    settings = {"samples": 20, "budget": "2s", "home": home}
    others = {
        "batch": next(iter(assay.run(f"mnist-mlp:units=64,batch_size=64@{backend}", **settings))),
        "option": next(iter(assay.run(f"mnist-mlp:units=64@{backend}:threads=1", **settings))),
        "package": _with_package(first, backend, home),
    }
    told: dict[str, object] = {}
    for what, other in others.items():
        found = assay.repro(first.id, against=other.id, home=home)
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
