"""Which benchmark methods are meant, or are there: a fresh process looks, nothing loads here."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

from assay.benches.asked import FOUND, Find, Found, Setting
from assay.benches.names import Filter, Method
from assay.benchrun import BACKEND, BenchChild, ask
from assay.errors import AssayError, EndingError, UsageError
from assay.records import Case


def discover(patterns: Iterable[Method | Filter], setting: Setting) -> list[Method]:
    """Methods as they are named; those behind filters by a look into the class, elsewhere."""
    found: list[Method] = []
    for pattern in patterns:
        if isinstance(pattern, Method):
            found.append(pattern)
            continue
        names = look(Find(filters=(pattern,), python_path=setting.python_path), setting.python)
        if not names.names:
            raise UsageError(
                f"No method of {pattern.module}.{pattern.owner} matches '{pattern.pattern}'.",
                hint=f"assay list benchmarks {pattern.module} shows what there is.",
            )
        found += [_method(pattern, name) for name in names.names]
    if not found:
        raise UsageError(
            "No benchmark method was named.", hint="As in: my_pkg.bench.Resnet.benchmark_1_gpu"
        )
    return found


def look(wanted: Find, python: str = "", timeout: float = 600.0) -> Found:
    """What a fresh process finds: nothing of it is loaded here, and nothing is constructed."""
    case = Case(workload="discovery", backend=BACKEND, options={"python": python} if python else {})
    with tempfile.TemporaryDirectory(prefix="assay-") as place:
        folder = Path(place)
        try:
            ask(folder, wanted)
            with BenchChild(case, folder, timeout, folder) as child:
                child.carry_out()
        except EndingError as error:
            names = ", ".join([*(f"{f.module}.{f.owner}" for f in wanted.filters)])
            kind = UsageError if error.status == "failed" else AssayError
            raise kind(
                f"{names or ', '.join(wanted.packages)} cannot be looked into: {error.reason}.",
                hint="Is it in the present folder, in PYTHONPATH, or given with --python-path?",
            ) from None
        return msgspec.json.decode((folder / FOUND).read_bytes(), type=Found)


def _method(pattern: Filter, name: str) -> Method:
    return Method(pattern.module, pattern.owner, name[len(f"{pattern.module}.{pattern.owner}.") :])
