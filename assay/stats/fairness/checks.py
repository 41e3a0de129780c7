"""Whether contenders do the same work: what differs between results of one workload, in words.

A difference that a case requested (another layout, precision or compiler) is only noted; any other
is unfair. What is compared, and how closely: docs/design/fairness.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from assay.core.findings import Unlikeness
from assay.core.records import Result, Value
from assay.stats.doubts.work import UNWAITED
from assay.stats.fairness import outputs
from assay.stats.fairness.outputs import Group, by_value, grouped, said, unlike

COUNTERS_APART = 0.25  # share; frameworks count padding and element-wise work differently

# Facts that have to be equal among cases with equal values of these options.
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
# Options that change how a case is computed; those that differ are told in one line.
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
    """All that is unlike among contenders of one workload and its parameters; unfair first."""
    found = [one for group in grouped(results) for check in CHECKS for one in check(group)]
    return sorted(found, key=lambda one: not one.unfair)


def sentences(results: Iterable[Result]) -> list[str]:
    """What is unlike, to stand beside a verdict that names its contenders' options already."""
    return [one.sentence(named=False) for one in differences(results) if one.what != "options"]


def _equal(group: Group) -> Iterator[Unlikeness]:
    for fact, options in EQUAL.items():
        yield from _differing(group, fact, options)


def _differing(
    group: Group,
    fact: str,
    options: Sequence[str],
    value: Callable[[Result], Value | None] | None = None,
) -> Iterator[Unlikeness]:
    """Unfair where cases that asked for the same got another."""
    get = value or (lambda result: result.facts.get(fact))
    for alike in by_value(group.results, lambda r: tuple(r.case.options.get(o) for o in options)):
        answer = [result for result in alike if get(result) is not None]
        values = by_value(answer, get)
        if len(values) > 1:
            request = "".join(f" at {o} {alike[0].case.options.get(o)}" for o in options)
            text = "; ".join(
                f"{said(same[0].facts[fact])} in {group.names(same)}" for same in values
            )
            yield unlike(group, fact, f"{_words(fact)} differs{request}: {text}")


def _input_shapes(group: Group) -> Iterator[Unlikeness]:
    """As sets of sizes: a layout only changes their order."""
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
    """A framework without its GPU part ends on the CPU, and says so only here."""
    return _differing(
        group,
        "device",
        ("device",),
        lambda r: _kind(str(r.facts["device"])) if "device" in r.facts else None,
    )


def _kind(device: str) -> str:
    return "cpu" if device.startswith("cpu") else "gpu"


def _tf32(group: Group) -> Iterator[Unlikeness]:
    """Only where products are in float32: TF32 is a way to compute those."""
    return _differing(
        group,
        "tf32",
        ("precision",),
        lambda r: r.facts.get("tf32") if r.facts.get("product_dtypes") == "float32" else None,
    )


def _dtypes(group: Group) -> Iterator[Unlikeness]:
    """What products are really computed in, against what was asked for and what the others do."""
    for result in group.results:
        used = str(result.facts.get("product_dtypes", ""))
        request = str(result.case.options.get("precision", ""))
        if used and request in EXACT and used != "float32":
            text = (
                f"{group.names([result])} computes products in {used}, though {request} was chosen"
            )
            yield unlike(group, "product_dtypes", text)
    for one in _differing(_mixed(group), "product_dtypes", ("precision",)):
        yield unlike(group, one.what, one.text, unfair=False)


def _mixed(group: Group) -> Group:
    """Those whose framework chooses what to keep in float32."""
    mixed = (
        r for r in group.results if str(r.case.options.get("precision", "float32")) not in EXACT
    )
    return Group(group.workload, tuple(mixed))


def _counters(group: Group) -> Iterator[Unlikeness]:
    """Where no count of the model itself is known, those of two frameworks are compared."""
    counts = {
        int(result.facts["counted_multiply_adds"]): result
        for result in group.results
        if result.facts.get("counted_multiply_adds")
    }
    known = all("multiply_adds" in result.facts for result in group.results)
    if not known and counts and max(counts) > (1 + COUNTERS_APART) * min(counts):
        few, many = min(counts), max(counts)
        text = (
            f"multiply-adds of an item differ by the frameworks' own counters: {few:,} in "
            f"{group.names([counts[few]])}; {many:,} in {group.names([counts[many]])}"
        )
        yield unlike(group, "counted_multiply_adds", text)


def _waits(group: Group) -> Iterator[Unlikeness]:
    for result in group.results:
        left = result.facts.get("unwaited")
        if isinstance(left, int | float) and left > UNWAITED:
            text = (
                f"{group.names([result])} does not wait for its device, which still works for "
                f"{left:.0%} of the time of the steps when wait has returned"
            )
            yield unlike(group, "unwaited", text)


def _versions(group: Group) -> Iterator[Unlikeness]:
    answer = (result for result in group.results if result.workload_version)
    versions = by_value(answer, lambda result: result.workload_version)
    if len(versions) > 1:
        text = "; ".join(f"{v[0].workload_version} in {group.names(v)}" for v in versions)
        yield unlike(group, "workload_version", f"versions of the workload differ: {text}")


def _threads(group: Group) -> Iterator[Unlikeness]:
    """How many of the CPUs it may use a framework uses is its own choice: told, not blamed."""
    for one in _differing(group, "threads", ("threads",)):
        yield unlike(group, one.what, one.text, unfair=False)


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
    """What differs between contenders of one workload; what nobody chose is unfair.

    >>> [one.text for one in assay.fairness(assay.run("vgg16")) if one.unfair]
    """

    return differences(results)
