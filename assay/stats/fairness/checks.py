"""Check that contenders do the same work.

Requested differences (layout, precision or compiler) are notes; others are unfair. See
docs/design/fairness.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from assay.core.findings import Unlikeness
from assay.core.records import Result, Value
from assay.stats.doubts.work import UNWAITED
from assay.stats.fairness import outputs
from assay.stats.fairness.outputs import Group, by_value, grouped, said, unlike

COUNTERS_APART = 0.25  # share; frameworks count padding and element-wise work differently

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
)
EXACT = ("float32", "tf32")  # precisions that leave no choice of a dtype


def differences(results: Iterable[Result]) -> list[Unlikeness]:
    """Mismatches of contenders with equal workload and parameters; unfair ones first."""
    mismatches = [
        mismatch for group in grouped(results) for check in CHECKS for mismatch in check(group)
    ]
    return sorted(mismatches, key=lambda mismatch: not mismatch.unfair)


def sentences(results: Iterable[Result]) -> list[str]:
    """Sentences for a verdict that already names the options."""
    return [
        mismatch.sentence(named=False)
        for mismatch in differences(results)
        if mismatch.what != "options"
    ]


def _equal(group: Group) -> Iterator[Unlikeness]:
    for fact, options in EQUAL.items():
        yield from _differing(group, fact, options)


def _differing(
    group: Group,
    fact: str,
    options: Sequence[str],
    value: Callable[[Result], Value | None] | None = None,
) -> Iterator[Unlikeness]:
    """Unfair if cases with equal options differ."""
    get = value or (lambda result: result.facts.get(fact))
    for results in by_value(group.results, lambda r: tuple(r.case.options.get(o) for o in options)):
        answer = [result for result in results if get(result) is not None]
        values = by_value(answer, get)
        if len(values) > 1:
            request = "".join(f" at {o} {results[0].case.options.get(o)}" for o in options)
            text = "; ".join(
                f"{said(same[0].facts[fact])} in {group.names(same)}" for same in values
            )
            yield unlike(group, fact, f"{_words(fact)} differs{request}: {text}")


def _input_shapes(group: Group) -> Iterator[Unlikeness]:
    """Compared as sets of sizes: a layout only changes their order."""
    return _differing(
        group,
        "input_shape",
        (),
        lambda r: (
            str(sorted(str(r.facts["input_shape"]).replace(", ", "x").split("x")))
            if "input_shape" in r.facts
            else None
        ),
    )


def _devices(group: Group) -> Iterator[Unlikeness]:
    """A framework without GPU support silently runs on the CPU."""
    return _differing(
        group,
        "device",
        ("device",),
        lambda r: _kind(str(r.facts["device"])) if "device" in r.facts else None,
    )


def _kind(device: str) -> str:
    return "cpu" if device.startswith("cpu") else "gpu"


def _tf32(group: Group) -> Iterator[Unlikeness]:
    """Only for float32 products, which TF32 may compute."""
    return _differing(
        group,
        "tf32",
        ("precision",),
        lambda r: r.facts.get("tf32") if r.facts.get("product_dtypes") == "float32" else None,
    )


def _dtypes(group: Group) -> Iterator[Unlikeness]:
    """Dtypes of products against the request and the other contenders."""
    for result in group.results:
        used = str(result.facts.get("product_dtypes", ""))
        request = str(result.case.options.get("precision", ""))
        if used and request in EXACT and used != "float32":
            text = (
                f"{group.names([result])} computes products in {used}, though {request} was chosen"
            )
            yield unlike(group, "product_dtypes", text)
    for mismatch in _differing(_mixed(group), "product_dtypes", ("precision",)):
        yield unlike(group, mismatch.what, mismatch.text, unfair=False)


def _mixed(group: Group) -> Group:
    """Results of frameworks that choose what stays in float32."""
    mixed = (
        r for r in group.results if str(r.case.options.get("precision", "float32")) not in EXACT
    )
    return Group(group.workload, tuple(mixed))


def _counters(group: Group) -> Iterator[Unlikeness]:
    """Without a count of the model itself, compare counts of frameworks."""
    counts = {
        int(result.facts["counted_multiply_adds"]): result
        for result in group.results
        if result.facts.get("counted_multiply_adds")
    }
    known = all("multiply_adds" in result.facts for result in group.results)
    if not known and counts and max(counts) > (1 + COUNTERS_APART) * min(counts):
        few, many = min(counts), max(counts)
        text = (
            f"multiply-adds per item differ by the frameworks' counters: {few:,} in "
            f"{group.names([counts[few]])}; {many:,} in {group.names([counts[many]])}"
        )
        yield unlike(group, "counted_multiply_adds", text)


def _waits(group: Group) -> Iterator[Unlikeness]:
    for result in group.results:
        left = result.facts.get("unwaited")
        if isinstance(left, int | float) and left > UNWAITED:
            text = (
                f"{group.names([result])} does not wait for its device, which still works for "
                f"{left:.0%} of the time of the steps after wait returned"
            )
            yield unlike(group, "unwaited", text)


def _versions(group: Group) -> Iterator[Unlikeness]:
    answer = (result for result in group.results if result.workload_version)
    versions = by_value(answer, lambda result: result.workload_version)
    if len(versions) > 1:
        text = "; ".join(f"{v[0].workload_version} in {group.names(v)}" for v in versions)
        yield unlike(group, "workload_version", f"versions of the workload differ: {text}")


def _threads(group: Group) -> Iterator[Unlikeness]:
    """The number of threads is a framework's own choice: never unfair."""
    for mismatch in _differing(group, "threads", ("threads",)):
        yield unlike(group, mismatch.what, mismatch.text, unfair=False)


def _chosen(group: Group) -> Iterator[Unlikeness]:
    parts = []
    for option in REQUESTED:
        values = {str(r.case.options[option]) for r in group.results if option in r.case.options}
        if len(values) > 1:
            parts.append(f"{option} {', '.join(sorted(values))}")
    if parts:
        yield unlike(group, "options", f"options differ: {'; '.join(parts)}", unfair=False)


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
Check = Callable[[Group], Iterator[Unlikeness]]
CHECKS: tuple[Check, ...] = (
    *(_equal, _input_shapes, _counters, _devices, _dtypes, _tf32),
    *(outputs.disagreeing, _waits, _versions, _threads, _chosen),
)


def fairness(results: Iterable[Result]) -> list[Unlikeness]:
    """Differences between contenders of one workload; unrequested ones are unfair.

    >>> [m.text for m in assay.fairness(assay.run("vgg16")) if m.unfair]
    """

    return differences(results)
