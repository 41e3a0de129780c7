"""The job of HPVM's test_benchmarks.py: each network in Keras and as a binary, by its accuracy."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from assay.compat.hpvm import scripts
from assay.core import registry
from assay.core.errors import UsageError
from assay.core.findings import Output, Table
from assay.core.progress import ignore
from assay.core.records import SCHEMA, Evaluation
from assay.core.settings import Home
from assay.native.hpvm.program import execute
from assay.workloads.accuracy import TEN, AccuracyWorkload

APART = 0.05  # points between Keras and the binary, and below HPVM's own weights: HPVM's tolerance
MODES = ("keras_reload", "hpvm_reload")


class TestedNet(msgspec.Struct, frozen=True, kw_only=True):
    net: str
    expected: float  # percent, by HPVM's table
    keras: float | None = None
    binary: float | None = None
    needs: str = ""  # what is not here, in words
    problem: str = ""

    @property
    def verdict(self) -> str:
        if self.needs:
            return "not tested"
        if self.problem or self.keras is None or self.binary is None:
            return "failed"
        apart = abs(self.keras - self.binary) >= APART
        return "failed" if apart or self.binary < self.expected - APART else "ok"


def tested(
    nets: Sequence[str], engine: str, store: Home, tell: Callable[[str], None]
) -> Iterator[TestedNet]:
    """Each by the weights that are here: Keras' file, else HPVM's folder of .bin."""
    for workload in _chosen(nets):
        mode, needs = _mode(workload, store)
        if needs:
            yield TestedNet(net=workload.name, expected=workload.expected, needs=needs)
            continue
        tell(f"{workload.name} …")
        yield _tested(workload, mode, engine, store)


def _chosen(nets: Sequence[str]) -> list[AccuracyWorkload]:
    names = [name.removesuffix(".py").replace("_", "-") for name in nets]
    found = [registry.workload(name) for name in names]
    for name, each in zip(names, found, strict=True):
        if not isinstance(each, AccuracyWorkload):
            known = ", ".join(one.name for one in TEN)
            raise UsageError(f"{name} is none of HPVM's networks.", hint=f"They are {known}.")
    return [each for each in found if isinstance(each, AccuracyWorkload)] or list(TEN)


def _mode(workload: AccuracyWorkload, store: Home) -> tuple[str, str]:
    """The words to load it by, or what it needs."""
    place = Path(store) if store else None
    lacks = []
    for mode in MODES:
        params = {**workload.params, "weights": scripts.MODES[mode]}
        if not (lack := workload.lacks(params, Evaluation(), place)):
            return mode, ""
        lacks.append(lack)
    return "", lacks[0]


def _tested(workload: AccuracyWorkload, mode: str, engine: str, store: Home) -> TestedNet:
    """In a folder of its own, which is gone afterwards."""
    facts = {"net": workload.name, "expected": workload.expected}
    request = scripts.read_words(workload.name, [mode, "frontend", "compile"])
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="assay-hpvm-test-") as folder:
        os.chdir(folder)
        try:
            outcome = scripts.run_request(request, engine, store, ignore)
            if not outcome.written:
                return TestedNet(**facts, problem=outcome.result.reason)  # type: ignore[arg-type]
            ran = execute(Path(folder) / outcome.written[1], (), folder)
        finally:
            os.chdir(before)
        return TestedNet(
            **facts,  # type: ignore[arg-type]
            keras=scripts.percent(outcome.result),
            binary=ran.accuracy,
            problem=ran.error.strip() if ran.status else "",
        )


def output(found: Sequence[TestedNet]) -> Output:
    columns = ("network", "HPVM's table", "Keras", "binary", "verdict", "note")
    rows = tuple(
        (
            one.net,
            f"{one.expected:.2f}",
            *("" if value is None else f"{value:.2f}" for value in (one.keras, one.binary)),
            one.verdict,
            one.needs or one.problem,
        )
        for one in found
    )
    table = Table(columns=columns, rows=rows, numeric=frozenset(columns[1:4]))
    rows_out = [{**msgspec.to_builtins(one), "verdict": one.verdict} for one in found]
    return Output(
        tables=(table,), document={"schema": SCHEMA, "kind": "hpvm-test", "rows": rows_out}
    )


def status(found: Sequence[TestedNet]) -> int:
    """1 if one failed; 3 if nothing could be tested."""
    verdicts = [one.verdict for one in found]
    if "failed" in verdicts:
        return 1
    return 0 if "ok" in verdicts else 3
