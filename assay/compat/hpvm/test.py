"""assay hpvm test: accuracy of each network in Keras and as a binary, as test_benchmarks.py."""

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

TOLERANCE = 0.05  # HPVM's own: points between Keras and the binary, and below the expected accuracy
MODES = ("keras_reload", "hpvm_reload")


class NetworkCheck(msgspec.Struct, frozen=True, kw_only=True):
    net: str
    expected: float  # percent, from HPVM's table
    keras: float | None = None
    binary: float | None = None
    needs: str = ""  # weights or data that are missing
    problem: str = ""

    @property
    def verdict(self) -> str:
        if self.needs:
            return "not tested"
        if self.problem or self.keras is None or self.binary is None:
            return "failed"
        is_apart = abs(self.keras - self.binary) >= TOLERANCE
        return "failed" if is_apart or self.binary < self.expected - TOLERANCE else "ok"


def check_networks(
    nets: Sequence[str], engine: str, store: Home, tell: Callable[[str], None]
) -> Iterator[NetworkCheck]:
    """Test each network with the weights in the store: Keras' file, else HPVM's .bin folder."""
    for workload in _networks(nets):
        mode, needs = _mode(workload, store)
        if needs:
            yield NetworkCheck(net=workload.name, expected=workload.expected, needs=needs)
            continue
        tell(f"{workload.name} …")
        yield _check_network(workload, mode, engine, store)


def _networks(nets: Sequence[str]) -> list[AccuracyWorkload]:
    networks = []
    for name in (name.removesuffix(".py").replace("_", "-") for name in nets):
        workload = registry.workload(name)
        if not isinstance(workload, AccuracyWorkload):
            known = ", ".join(network.name for network in TEN)
            raise UsageError(f"{name} is none of HPVM's networks.", hint=f"They are {known}.")
        networks.append(workload)
    return networks or list(TEN)


def _mode(workload: AccuracyWorkload, store: Home) -> tuple[str, str]:
    """The mode to load its weights with, or what is missing."""
    folder = Path(store) if store else None
    problems = []
    for mode in MODES:
        params = {**workload.params, "weights": scripts.MODES[mode]}
        if not (problem := workload.lacks(params, Evaluation(), folder)):
            return mode, ""
        problems.append(problem)
    return "", problems[0]


def _check_network(workload: AccuracyWorkload, mode: str, engine: str, store: Home) -> NetworkCheck:
    """Test one network in a temporary folder."""
    facts = {"net": workload.name, "expected": workload.expected}
    request = scripts.read_words(workload.name, [mode, "frontend", "compile"])
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="assay-hpvm-test-") as folder:
        os.chdir(folder)
        try:
            outcome = scripts.run_request(request, engine, store, ignore)
            if not outcome.written:
                return NetworkCheck(**facts, problem=outcome.result.reason)  # type: ignore[arg-type]
            ran = execute(Path(folder) / outcome.written[1], (), folder)
        finally:
            os.chdir(before)
        return NetworkCheck(
            **facts,  # type: ignore[arg-type]
            keras=scripts.percent(outcome.result),
            binary=ran.accuracy,
            problem=ran.error.strip() if ran.status else "",
        )


def output(checks: Sequence[NetworkCheck]) -> Output:
    columns = ("network", "HPVM's table", "Keras", "binary", "verdict", "note")
    rows = tuple(
        (
            check.net,
            f"{check.expected:.2f}",
            *("" if value is None else f"{value:.2f}" for value in (check.keras, check.binary)),
            check.verdict,
            check.needs or check.problem,
        )
        for check in checks
    )
    table = Table(columns=columns, rows=rows, numeric=frozenset(columns[1:4]))
    rows_out = [{**msgspec.to_builtins(check), "verdict": check.verdict} for check in checks]
    return Output(
        tables=(table,), document={"schema": SCHEMA, "kind": "hpvm-test", "rows": rows_out}
    )


def status(checks: Sequence[NetworkCheck]) -> int:
    """Exit status: 1 if a network failed; 3 if none could be tested."""
    verdicts = [check.verdict for check in checks]
    if "failed" in verdicts:
        return 1
    return 0 if "ok" in verdicts else 3
