"""Workloads: a file or folder each; `resolve` finds those of users."""

from __future__ import annotations

from assay.core.contracts import Workload


def resolve(name: str) -> Workload | None:
    """A user's workload, or None for the name of a built-in one."""
    from assay.workloads import user

    return user.resolve(name)
