"""Addresses of clusters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from assay.core.errors import NotPossibleError, UsageError
from assay.core.executor import Executor
from assay.platforms.cluster.resources import parse_needs

PORT = 10001  # of Ray's client server
FORMS = "Use ray://HOST:10001, or HOST:6379 or ray for a cluster that this machine belongs to."
_ADDRESS = re.compile(r"(ray://)?([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:]+\])(?::([0-9]{1,5}))?/?")


@contextmanager
def machines(on: str, need: Mapping[str, str] | None = None) -> Iterator[Executor]:
    """Connect to a cluster, with the resources that each case needs."""
    address, needs = address_of(on), parse_needs(need or {})
    try:
        from assay.platforms.cluster import _connection
    except ImportError as error:
        raise NotPossibleError(
            f"--on needs Ray, which is not installed ({error.name}).",
            hint="pip install 'assay-lab[cluster]'",
        ) from None
    from assay.platforms.cluster.scheduler import RayCluster

    with _connection.connect(address) as link:
        yield RayCluster(link, needs)


def check_where(on: str, need: Mapping[str, str] | None) -> None:
    """Check address and resources before connecting."""
    address_of(on)
    parse_needs(need or {})


def address_of(text: str) -> str:
    """The address for Ray."""
    match = _ADDRESS.fullmatch(text)
    if text == "ray":
        return "auto"
    if not match or not (match[1] or match[3]) or int(match[3] or 1) > 65535:
        raise UsageError(f"--on is '{text}', which is not an address of a Ray cluster.", hint=FORMS)
    return f"{match[1] or ''}{match[2]}:{match[3] or PORT}"
