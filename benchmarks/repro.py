"""Does `assay repro` say "reproduced" of what is the same, and name what is not?

    python benchmarks/repro.py [--home FOLDER]

Ten cases are measured, then each is reproduced (A/A). Then one is held against itself with another
batch, another option and another package, which have to be named.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import closing
from pathlib import Path

import msgspec

import assay
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
        cases += [f"{net}@{backend}" for net in NETS for backend in ("jax", "torch")]
        results = measured(cases, given.processes, home)
        same(results, home)
        changed(results, home)


def measured(cases: list[str], processes: int, home: str) -> list[Result]:
    found = []
    for case in cases:
        found += list(assay.run(case, samples=20, budget="2s", processes=processes, home=home))
    return found


def same(results: list[Result], home: str) -> None:
    answers = []
    for result in results:
        found = assay.repro(result.id, home=home)
        answers.append(found.answer)
        print(f"{result.case.key.rpartition('/')[2]:50} {found.sentence}", flush=True)
    print(f"reproduced: {answers.count('reproduced')} of {len(answers)}")


def changed(results: list[Result], home: str) -> None:
    """The net, with one thing changed at a time."""
    first = next(result for result in results if result.case.backend == "torch")
    settings = {"samples": 20, "budget": "2s", "home": home}
    others = {
        "batch": next(iter(assay.run("mnist-mlp:units=64,batch_size=64@torch", **settings))),
        "option": next(iter(assay.run("mnist-mlp:units=64@torch:threads=1", **settings))),
        "package": _with_package(first, home),
    }
    for what, other in others.items():
        found = assay.repro(first.id, against=other.id, home=home)
        print(f"{what}: {found.sentence}; named: {', '.join(found.changed) or 'nothing'}")


def _with_package(result: Result, home: str) -> Result:
    """As if another version of torch had been there: two of them cannot be installed at once."""
    replace = msgspec.structs.replace
    packages = {**result.environment.packages, "torch": "2.12.0"}
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
