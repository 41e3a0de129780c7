"""Results of run and evaluate, for Python."""

from __future__ import annotations

from collections.abc import Iterator

from assay.core.errors import AssayError
from assay.core.findings import Output, SummarizedResult
from assay.core.records import Result
from assay.reporting.python_view import Results, Row
from assay.reporting.results import output
from assay.reporting.warnings import is_quick
from assay.stats.fairness.checks import fairness
from assay.stats.winner import rank


class RunResults(Results[SummarizedResult, Result]):
    """Results of a run."""

    @property
    def stream(self) -> Iterator[SummarizedResult]:
        """The results with their summaries, each once: for the command line, which keeps them."""
        return self._stream

    @property
    def best(self) -> Result:
        """The fastest result by items per second; of evaluations, the most accurate."""
        readings = [reading for reading in self._all() if _score(reading)]
        if not readings:
            reasons = [f"{r.result.case.key}: {_reason(r.result)}" for r in self._received]
            why = "; ".join(reasons) or "nothing was measured"
            raise AssayError(f"There is no result to choose from ({why}).")
        if len(readings) > 1 and is_quick(readings):
            raise AssayError(
                "A quick run does not name the best of several: its intervals are rough.",
                hint="Leave out quick, or decide between two: assay.ab(…)",
            )
        return max(readings, key=_score).result

    def to_dicts(self) -> list[Row]:
        """A row per result, with a column per parameter, option and metric."""
        return [_result_row(reading) for reading in self._all()]

    def _item(self, received: SummarizedResult) -> Result:
        return received.result

    def _output(self) -> Output:
        readings = self._all()
        mismatches = fairness(reading.result for reading in readings)
        return output(readings, mismatches, ranking=rank(readings, mismatches))


def _score(reading: SummarizedResult) -> float:
    quantities = reading.summary.quantities
    for name in ("throughput", "accuracy"):
        if reading.result.status == "ok" and name in quantities:
            return quantities[name].value
    step = quantities.get("step_time")
    usable = reading.result.status == "ok" and step is not None and step.value > 0
    return max(1, reading.result.items) / step.value if usable and step else 0.0


def _reason(result: Result) -> str:
    return result.reason.partition("\n")[0] or result.status


def _result_row(reading: SummarizedResult) -> Row:
    result = reading.result
    case = result.case
    row: Row = {"id": result.id, "started": result.started, "case": case.key}
    row |= {"workload": case.workload, "backend": case.backend, "status": result.status}
    row |= {**case.params, **case.options, "label": result.label}
    for name, quantity in reading.summary.quantities.items():
        row |= {name: quantity.value, f"{name}_low": quantity.low, f"{name}_high": quantity.high}
    return {**row, **result.peaks}
