"""A TPU node for as long as something runs: made, waited for, and deleted whatever happens."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

import msgspec

from assay.core.errors import AssayError, UsageError
from assay.core.objects import ServiceAwayError
from assay.platforms.cloud import google
from assay.platforms.cloud.provider import LABEL, check_name, check_zone

ENDPOINT = "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU"  # gcloud's own variable for another endpoint
_ROLE = "TPU Admin"
_POLL = 5.0  # seconds between looks at a node that is being made
_LOST = ("TERMINATED", "PREEMPTED", "DELETING", "STOPPED")
Say = Callable[[str], None]


class TpuRequest(msgspec.Struct, frozen=True, kw_only=True):
    """PerfZero's --tpu_parameters."""

    name: str
    project: str
    zone: str
    size: str  # v3-8
    version: str  # of the runtime
    version_id: str = ""  # that workers are asked to run in place of it
    started: bool = False  # somebody else made it: it is used, and stays

    def __post_init__(self) -> None:
        check_name(self.name)
        check_zone(self.zone)
        for text in (self.project, self.size, self.version, self.version_id or "-"):
            if not text or not text.isprintable() or "/" in text:
                raise UsageError(f"'{text[:60]}' is no word of a TPU.", hint="size: v3-8")

    @property
    def path(self) -> str:
        return f"projects/{self.project}/locations/{self.zone}/nodes/{self.name}"


@contextmanager
def node(wanted: TpuRequest, say: Say, timeout: float = 900.0) -> Iterator[dict[str, str]]:
    """The node is ready inside, and gone afterwards; what its workers run, if they say so. One that
    was there before is left as it is, but for a version that was asked for."""
    client = _client()
    state = _state(client, wanted)
    if wanted.started:
        if not state:
            raise UsageError(
                f"There is no TPU {wanted.name} in {wanted.zone}.",
                hint="Leave using_prestarted_tpu out, and one is made.",
            )
        yield _versioned(client, wanted, timeout, say)
        return
    if state:
        raise UsageError(
            f"The TPU {wanted.name} is there already.",
            hint='Use it with "using_prestarted_tpu": "true", or delete it first.',
        )
    say(f"TPU {wanted.name}: being made …")
    try:
        _create(client, wanted)
        _await(client, wanted, timeout)
        yield _versioned(client, wanted, timeout, say)
    finally:
        say(f"TPU {wanted.name}: {_deleted(client, wanted)}")


def _create(client: Any, wanted: TpuRequest) -> None:
    from google.cloud import tpu_v2

    made = tpu_v2.Node(
        accelerator_type=wanted.size, runtime_version=wanted.version, labels={LABEL: "1"}
    )
    with google.in_words(f"make the TPU {wanted.name}", _ROLE):
        parent = wanted.path.partition("/nodes/")[0]
        client.create_node(parent=parent, node_id=wanted.name, node=made)


def _versioned(
    client: Any,
    wanted: TpuRequest,
    timeout: float,
    say: Say,
) -> dict[str, str]:
    """The version that was asked for is running, and told; another is told if it can be."""
    with google.in_words(f"look at the TPU {wanted.name}", _ROLE):
        found = client.get_node(name=wanted.path, retry=None).network_endpoints
    addresses = [one.ip_address for one in found if one.ip_address]
    if wanted.version_id:
        if not addresses:
            raise ServiceAwayError(
                f"The TPU {wanted.name} tells no address of its workers.", hint="Try again later."
            )
        say(f"TPU {wanted.name}: version {wanted.version_id} …")
        request_version(addresses, wanted.version_id)
        _await(client, wanted, timeout)
    return read_version(addresses)


def _await(client: Any, wanted: TpuRequest, timeout: float) -> None:
    end = time.monotonic() + timeout
    while (state := _state(client, wanted)) != "READY":
        if state in _LOST or time.monotonic() > end:
            raise ServiceAwayError(
                f"The TPU {wanted.name} is {state or 'not there'}, and did not become ready.",
                hint="Try another zone or size.",
            )
        time.sleep(_POLL)


def _deleted(client: Any, wanted: TpuRequest) -> str:
    """In words; a failure is said rather than raised, so that it hides none before it."""
    try:
        if not _state(client, wanted):
            return "not there any more"
        with google.in_words(f"delete the TPU {wanted.name}", _ROLE):
            client.delete_node(name=wanted.path)
    except AssayError as error:
        return f"NOT DELETED, and costs money: {error}"
    return "deleted"


def _state(client: Any, wanted: TpuRequest) -> str:
    """READY, CREATING, …; "" where there is no such node."""
    from google.api_core.exceptions import NotFound

    with google.in_words(f"look at the TPU {wanted.name}", _ROLE):
        try:
            return str(client.get_node(name=wanted.path, retry=None).state.name)
        except NotFound:
            return ""


def _client() -> Any:
    try:
        from google.cloud import tpu_v2
    except ImportError:
        raise google.missing("google-cloud-tpu", "cloud") from None
    return google.client_at(tpu_v2.TpuClient, ENDPOINT, transport="rest")


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


def _answer(address: str, more: str, data: bytes | None = None) -> Any:
    """Workers have addresses of the network the TPU is in: no proxy leads there."""
    url = f"http://{_host(address)}:{PORT}/requestversion{more}"
    try:
        with build_opener(ProxyHandler({})).open(Request(url, data), timeout=_SECONDS) as answer:
            return answer.read(_MOST)
    except URLError as error:
        raise OSError(error.reason) from None


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address
