"""The runtime version of TPU workers: asked for and read at a port of their own, as Google does."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

from assay.core.objects import ServiceAwayError

PORT = 8475
_SECONDS = 60.0  # a worker that has to restart answers late
_MOST = 1 << 20  # bytes of an answer


def request_version(addresses: Iterable[str], version_id: str) -> None:
    """Each worker restarts with this version, where it runs another."""
    for address in addresses:
        try:
            _answer(address, f"/{quote(version_id, safe='')}?restartType=ifNeeded", b"")
        except (OSError, ValueError) as error:
            raise ServiceAwayError(
                f"The TPU worker {address} did not take the version {version_id[:60]} ({error}).",
                hint="Its port 8475 is reached from the same network only.",
            ) from None


def read_version(addresses: Iterable[str]) -> dict[str, str]:
    """Of the first worker, under PerfZero's names; nothing where none can be reached."""
    for address in addresses:
        try:
            told = json.loads(_answer(address, ""))
            names = {
                "hash": "currentVersion",
                "branch": "buildLabel",
                "piper_id": "piperOriginRevId",
            }
            found = {ours: str(told.get(theirs, "")) for ours, theirs in names.items()}
        except (OSError, ValueError, AttributeError):
            continue
        return {"url": "", **found}
    return {}


def _answer(address: str, more: str, data: bytes | None = None) -> Any:  # noqa: ANN401 (urllib's)
    """Workers have addresses of the network the TPU is in: no proxy leads there."""
    url = f"http://{_host(address)}:{PORT}/requestversion{more}"
    try:
        with build_opener(ProxyHandler({})).open(Request(url, data), timeout=_SECONDS) as answer:
            return answer.read(_MOST)
    except URLError as error:
        raise OSError(error.reason) from None


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address
