"""Check that contenders do the same work.

Requested differences (layout, precision or compiler) are notes; others are unfair. See
docs/design/fairness.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from assay.core.findings import Mismatch
from assay.core.records import Result, Value
from assay.stats.doubts.work import MAX_UNSYNCHRONIZED
from assay.stats.fairness import outputs
from assay.stats.fairness.outputs import (
    Group,
    format_value,
    group_by_value,
    group_results,
    make_mismatch,
)

COUNTER_TOLERANCE = 0.25  # share; frameworks count padding and element-wise work differently

# Facts that must be equal for cases with equal values of these options.
EQUAL: dict[str, tuple[str, ...]] = {
    "parameters": (),
    "multiply_adds": (),
    "output_shape": (),
    "mode": ("mode",),
    "eager": (),
    "optimizer": ("optimizer",),
    "allocator": (),
    "parameter_dtype": ("precision",),
    "output_dtype": ("precision",),
}
# Options that change how a case is computed; differences are one line.
REQUESTED = (
    "precision",
    "data_format",
    "compiler",
    "cuda_graphs",
    "threads",
    "device",
    "method",
    "config",
    "inputs",
)
EXACT = ("float32", "tf32")  # precisions that leave no choice of a dtype


def differences(results: Iterable[Result]) -> list[Mismatch]:
    """Mismatches of contenders with equal workload and parameters; unfair ones first."""
    mismatches = [
        mismatch
        for group in group_results(results)
        for check in CHECKS
        for mismatch in check(group)
    ]
    return sorted(mismatches, key=lambda mismatch: not mismatch.unfair)


def sentences(results: Iterable[Result]) -> list[str]:
    """Sentences for a verdict that already names the options."""
    return [
        mismatch.sentence(named=False)
        for mismatch in differences(results)
        if mismatch.what != "options"
    ]


def _equal(group: Group) -> Iterator[Mismatch]:
    for fact, options in EQUAL.items():
        yield from _fact_mismatches(group, fact, options)


def _fact_mismatches(
    group: Group,
    fact: str,
    options: Sequence[str],
    value: Callable[[Result], Value | None] | None = None,
) -> Iterator[Mismatch]:
    """Unfair if cases with equal options differ."""
    get = value or (lambda result: result.facts.get(fact))
    for results in group_by_value(
        group.results, lambda r: tuple(r.case.options.get(o) for o in options)
    ):
        answer = [result for result in results if get(result) is not None]
        values = group_by_value(answer, get)
        if len(values) > 1:
            request = "".join(f" at {o} {results[0].case.options.get(o)}" for o in options)
            text = "; ".join(
                f"{format_value(same[0].facts[fact])} in {group.names(same)}" for same in values
            )
            yield make_mismatch(group, fact, f"{_words(fact)} differs{request}: {text}")


def _input_shapes(group: Group) -> Iterator[Mismatch]:
    """Compared as sets of sizes: a layout only changes their order."""
    return _fact_mismatches(
        group,
        "input_shape",
        (),
        lambda r: (
            str(sorted(str(r.facts["input_shape"]).replace(", ", "x").split("x")))
            if "input_shape" in r.facts
            else None
        ),
    )


def _devices(group: Group) -> Iterator[Mismatch]:
    """A framework without GPU support silently runs on the CPU."""
    return _fact_mismatches(
        group,
        "device",
        ("device",),
        lambda r: _kind(str(r.facts["device"])) if "device" in r.facts else None,
    )


def _kind(device: str) -> str:
    return "cpu" if device.startswith("cpu") else "gpu"


def _tf32(group: Group) -> Iterator[Mismatch]:
    """Only for float32 products, which TF32 may compute."""
    return _fact_mismatches(
        group,
        "tf32",
        ("precision",),
        lambda r: r.facts.get("tf32") if r.facts.get("product_dtypes") == "float32" else None,
    )


def _dtypes(group: Group) -> Iterator[Mismatch]:
    """Dtypes of products against the request and the other contenders."""
    for result in group.results:
        used = str(result.facts.get("product_dtypes", ""))
        request = str(result.case.options.get("precision", ""))
        if used and request in EXACT and used != "float32":
            text = (
                f"{group.names([result])} computes products in {used}, though {request} was chosen"
            )
            yield make_mismatch(group, "product_dtypes", text)
    for mismatch in _fact_mismatches(_mixed_precision(group), "product_dtypes", ("precision",)):
        yield make_mismatch(group, mismatch.what, mismatch.text, unfair=False)


def _mixed_precision(group: Group) -> Group:
    """Results of frameworks that choose what stays in float32."""
    mixed = (
        r for r in group.results if str(r.case.options.get("precision", "float32")) not in EXACT
    )
    return Group(group.workload, tuple(mixed))


def _counters(group: Group) -> Iterator[Mismatch]:
    """Without a count of the model itself, compare counts of frameworks."""
    counts = {
        int(count): result
        for result in group.results
        if isinstance(count := result.facts.get("counted_multiply_adds"), int | float) and count
    }
    known = all("multiply_adds" in result.facts for result in group.results)
    if not known and counts and max(counts) > (1 + COUNTER_TOLERANCE) * min(counts):
        few, many = min(counts), max(counts)
        text = (
            f"multiply-adds per item differ by the frameworks' counters: {few:,} in "
            f"{group.names([counts[few]])}; {many:,} in {group.names([counts[many]])}"
        )
        yield make_mismatch(group, "counted_multiply_adds", text)


def _waits(group: Group) -> Iterator[Mismatch]:
    for result in group.results:
        left = result.facts.get("unwaited")
        if isinstance(left, int | float) and left > MAX_UNSYNCHRONIZED:
            text = (
                f"{group.names([result])} does not wait for its device, which still works for "
                f"{left:.0%} of the time of the steps after wait returned"
            )
            yield make_mismatch(group, "unwaited", text)


def _versions(group: Group) -> Iterator[Mismatch]:
    answer = (result for result in group.results if result.workload_version)
    versions = group_by_value(answer, lambda result: result.workload_version)
    if len(versions) > 1:
        text = "; ".join(f"{v[0].workload_version} in {group.names(v)}" for v in versions)
        yield make_mismatch(group, "workload_version", f"versions of the workload differ: {text}")


def _threads(group: Group) -> Iterator[Mismatch]:
    """The number of threads is a framework's own choice: never unfair."""
    for mismatch in _fact_mismatches(group, "threads", ("threads",)):
        yield make_mismatch(group, mismatch.what, mismatch.text, unfair=False)


def _option_mismatches(group: Group) -> Iterator[Mismatch]:
    parts = []
    for option in REQUESTED:
        results = [result for result in group.results if option in result.case.options]
        values = group_by_value(results, partial(_option, name=option))
        if len(values) > 1:
            texts = [f"{_option(same[0], option)} ({group.names(same)})" for same in values]
            parts.append(f"{option} {', '.join(sorted(texts))}")
    if parts:
        yield make_mismatch(group, "options", f"options differ: {'; '.join(parts)}", unfair=False)


def _option(result: Result, name: str) -> str:
    return str(result.case.options[name])


def _words(fact: str) -> str:
    return _WORDS.get(fact, f"the {fact.replace('_', ' ')}")


_WORDS = {
    "parameters": "the count of trained parameters",
    "multiply_adds": "the count of multiply-adds",
    "parameter_dtype": "the dtype of parameters",
    "output_dtype": "the dtype of outputs",
    "product_dtypes": "the dtype of products",
    "tf32": "TF32",
    "threads": "the number of threads",
    "allocator": "the allocator's setting",
    "eager": "eagerness",
}
Check = Callable[[Group], Iterator[Mismatch]]
CHECKS: tuple[Check, ...] = (
    *(_equal, _input_shapes, _counters, _devices, _dtypes, _tf32),
    *(outputs.output_mismatches, _waits, _versions, _threads, _option_mismatches),
)


def fairness(results: Iterable[Result]) -> list[Mismatch]:
    """Differences between contenders of one workload; unrequested ones are unfair.

    >>> [m.text for m in assay.fairness(assay.run("vgg16")) if m.unfair]
    """

    return differences(results)
