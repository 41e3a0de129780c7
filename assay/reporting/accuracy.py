"""Evaluations → one table: net, backend, accuracy with interval, expected, verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.core.findings import Quantity, SummarizedResult, Table
from assay.core.units import human, span

COLUMNS = (
    "net",
    "backend",
    "accuracy",
    "95 % interval",
    "top 5",
    "images",
    "expected",
    "verdict",
)


def are_evaluations(readings: Sequence[SummarizedResult]) -> bool:
    """Whether all of these are evaluations."""
    return bool(readings) and all(_is_evaluation(reading) for reading in readings)


def accuracy_table(readings: Sequence[SummarizedResult], title: str = "") -> Table:
    """One row per result; notes have the weights and reasons of missing accuracies."""
    several = any("top5_accuracy" in reading.summary.quantities for reading in readings)
    chosen = tuple(name for name in COLUMNS if several or name != "top 5")
    rows = [dict(zip(COLUMNS, _row(reading), strict=True)) for reading in readings]
    return Table(
        columns=chosen,
        rows=tuple(tuple(row[name] for name in chosen) for row in rows),
        numeric=frozenset(chosen) - {"net", "backend", "verdict"},
        title=title,
        notes=tuple(dict.fromkeys(note for reading in readings for note in _notes(reading))),
    )


def status_text(reading: SummarizedResult) -> str:
    """Status of a result, with its failed check."""
    failed = next((check for check in reading.summary.checks if check.verdict == "fail"), None)
    if failed is None:
        return reading.result.status
    bound = f"{failed.expected:.2f} %"
    against = f"< {bound}" if failed.rule == "at least" else f"≠ {bound} ± {failed.tolerance:g}"
    answer = f"{_percent(reading.summary.quantities.get(failed.metric))} {against}"
    return f"{reading.result.status}, {failed.metric} check: fail ({answer})"


def _is_evaluation(reading: SummarizedResult) -> bool:
    """A benchmark method may report an accuracy too, but has no split."""
    return not {"split", "expected_accuracy"}.isdisjoint(reading.result.facts)


def _row(reading: SummarizedResult) -> tuple[str, ...]:
    quantities, facts = reading.summary.quantities, reading.result.facts
    accuracy, checks = quantities.get("accuracy"), reading.summary.checks
    expected = facts.get("expected_accuracy")
    bound = "≥ " if facts.get("expectation") == "at least" else ""
    return (
        reading.result.case.workload,
        _backend(reading.result.case.key),
        _percent(accuracy),
        span(accuracy.low, accuracy.high, "{:.2f}".format) if accuracy else "",
        _percent(quantities.get("top5_accuracy")),
        str(accuracy.n) if accuracy else "",
        f"{bound}{expected:.2f}" if expected else "",
        checks[0].verdict if checks else reading.result.status,
    )


def _notes(reading: SummarizedResult) -> Iterator[str]:
    result, facts = reading.result, reading.result.facts
    if result.status == "skipped":
        is_named = result.reason.startswith(result.case.workload)
        yield result.reason if is_named else f"{result.case.workload}: {result.reason}"
    elif result.reason:
        yield f"{result.case.key}: {result.status}: {result.reason}"
    if file := facts.get("weights_file"):
        digest = str(facts.get("weights_digest", ""))[:15]
        yield f"{result.case.workload}: weights {file} ({digest}…)"
    if reason := facts.get("cut_short"):
        expected = facts.get("expected_accuracy")
        unchecked = f"; {expected:.2f} % is not expected of it" if expected else ""
        yield f"{result.case.workload}: trained on less than its recipe ({reason}){unchecked}"
    if any(check.by == "interval" for check in reading.summary.checks):
        yield (
            "expected is known of 5000 test images; of others a verdict is fail only if the "
            "whole interval lies below it"
        )


def _backend(key: str) -> str:
    """Backend with its options, except mode=infer."""
    name = key.rpartition("@")[2].replace(":mode=infer", ":", 1).replace(":,", ":", 1)
    return name.removesuffix(":").replace(",mode=infer", "", 1)


def _percent(quantity: Quantity | None) -> str:
    return f"{quantity.value:.2f} %" if quantity else ""


TRAIN_COLUMNS = (
    *("net", "backend", "epochs", "accuracy", "95 % interval", "expected", "verdict"),
    *("training", "to the expected"),
)


def are_trainings(readings: Sequence[SummarizedResult]) -> bool:
    """Whether all of these are trainings."""
    return bool(readings) and all("recipe" in reading.result.facts for reading in readings)


def trainings_table(readings: Sequence[SummarizedResult], title: str = "") -> Table:
    """One row per result, as in the table of accuracies, with epochs and times."""
    evaluations = accuracy_table(readings, title)
    rows = []
    for reading, row in zip(readings, evaluations.rows, strict=True):
        cells = dict(zip(evaluations.columns, row, strict=True))
        quantities = reading.summary.quantities
        cells["epochs"] = str(len(reading.result.values("epoch_accuracy")) or "")
        cells["training"] = _seconds(quantities.get("train_time"))
        cells["to the expected"] = _seconds(quantities.get("time_to_accuracy"))
        rows.append(tuple(cells[name] for name in TRAIN_COLUMNS))
    return Table(
        columns=TRAIN_COLUMNS,
        rows=tuple(rows),
        numeric=frozenset(TRAIN_COLUMNS) - {"net", "backend", "verdict"},
        title=title,
        notes=evaluations.notes,
    )


def _seconds(quantity: Quantity | None) -> str:
    return human(quantity.value, quantity.unit) if quantity else ""
