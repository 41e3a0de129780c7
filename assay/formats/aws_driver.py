"""The AWS benchmark driver's one JSON: `[framework.]task.metric[.suffix]` → number."""

from __future__ import annotations

import os
from collections.abc import Sequence

from assay.core.formats import Content, Format
from assay.core.records import Result
from assay.formats import common

KIND = "aws-driver"
# Metrics that the driver adds to every run → unit and factor.
_ADDED = {
    "cpu_memory_usage": ("B", 1024.0),
    "gpu_memory_usage_mean": ("B", 2.0**20),
    "gpu_memory_usage_std": ("B", 2.0**20),
    "gpu_memory_usage_max": ("B", 2.0**20),
    "uptime_in_seconds": ("s", 1.0),
}


def matches(content: Content) -> bool:
    document = content.json
    return (
        isinstance(document, dict)
        and bool(document)
        and all("." in name and isinstance(document[name], int | float) for name in document)
        and any(part in _ADDED for name in document for part in name.split("."))
    )


def read(content: Content) -> Sequence[Result]:
    """The common prefix of keys is framework and task, the common end the suffix."""
    parts = {name: name.split(".") for name in content.json}
    added = next(n for n in parts if any(part in _ADDED for part in parts[n]))
    index = next(index for index, part in enumerate(parts[added]) if part in _ADDED)
    head, tail = parts[added][:index], parts[added][index + 1 :]
    for name, words in parts.items():
        if words[: len(head)] != head or (tail and words[-len(tail) :] != tail):
            raise content.wrong(f"has the key {common.plain(name)!r}, which is of another task")
    samples = []
    for name, words in parts.items():
        metric = ".".join(words[len(head) : len(words) - len(tail)])
        unit, factor = _ADDED.get(metric, ("", 1.0))
        value = common.number(content, content.json[name], name)
        samples.append(common.steady_samples(metric, unit, (factor * value,)))
    facts = {"framework": ".".join(head[:-1]), "suffix": ".".join(tail)}
    task = head[-1] if head else os.path.basename(content.origin)
    return [
        common.make_result(KIND, task, samples, facts={n: v for n, v in facts.items() if v}),
    ]


PROVIDES = {
    KIND: Format(
        summary="the AWS benchmark driver: dlbenchmark_result.json",
        suffix=".json",
        matches=matches,
        read=read,
    )
}
