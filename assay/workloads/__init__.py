"""Workloads: a file or folder each; a user's own are found by `resolve`."""

from __future__ import annotations

from assay.core.contracts import Workload


def resolve(name: str) -> Workload | None:
    """A user's workload, or None for a name that is looked up among the built-in ones."""
    from assay.workloads import user

    return user.resolve(name)
