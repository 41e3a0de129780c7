"""Which benchmark methods are meant, or are there: a fresh process looks, nothing loads here."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from assay.commands.bench.process import BACKEND, BenchProcess, ask
from assay.core.errors import AssayError, EndingError, UsageError
from assay.core.records import Case
from assay.formats.perfzero.messages import FOUND, BenchSetting, FindMethods, FoundMethods
from assay.formats.perfzero.names import Filter, Method


def discover(
    patterns: Iterable[Method | Filter],
    setting: BenchSetting,
    missing: Callable[[str], None] | None = None,
) -> list[Method]:
    """Methods as they are named; those behind filters by a look into the class, elsewhere.

    A filter without any is an error; with `missing` that is told, unless there is no other method.
    """
    found: list[Method] = []
    errors: list[AssayError] = []
    for pattern in patterns:
        try:
            found += [pattern] if isinstance(pattern, Method) else _behind(pattern, setting)
        except AssayError as error:
            if missing is None:
                raise
            errors.append(error)
    if errors and not found:
        raise errors[0]
    if not found:
        raise UsageError(
            "No benchmark method was named.", hint="As in: my_pkg.bench.Resnet.benchmark_1_gpu"
        )
    for lacking in errors:
        if missing:
            missing(str(lacking))
    return found


def _behind(pattern: Filter, setting: BenchSetting) -> list[Method]:
    request = FindMethods(filters=(pattern,), python_path=setting.python_path)
    names = look(request, setting.python).names
    if not names:
        raise UsageError(
            f"No method of {pattern.module}.{pattern.owner} matches '{pattern.pattern}'.",
            hint=f"assay list benchmarks {pattern.module} shows what there is.",
        )
    return [_method(pattern, name) for name in names]


def look(wanted: FindMethods, python: str = "", timeout: float = 600.0) -> FoundMethods:
    """What a fresh process finds: nothing of it is loaded here, and nothing is constructed."""
    case = Case(workload="discovery", backend=BACKEND, options={"python": python} if python else {})
    with tempfile.TemporaryDirectory(prefix="assay-") as place:
        folder = Path(place)
        try:
            ask(folder, wanted)
            with BenchProcess(case, folder, timeout, folder) as child:
                child.carry_out()
        except EndingError as error:
            names = ", ".join([*(f"{f.module}.{f.owner}" for f in wanted.filters)])
            kind = UsageError if error.status == "failed" else AssayError
            raise kind(
                f"{names or ', '.join(wanted.packages)} cannot be looked into: {error.reason}.",
                hint="Is it in the present folder, in PYTHONPATH, or given with --python-path?",
            ) from None
        return msgspec.json.decode((folder / FOUND).read_bytes(), type=FoundMethods)


def _method(pattern: Filter, name: str) -> Method:
    return Method(pattern.module, pattern.owner, name[len(f"{pattern.module}.{pattern.owner}.") :])
