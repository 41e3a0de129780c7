"""A temporary TPU node: created, awaited, and always deleted."""

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
from assay.core.objects import ServiceUnavailableError
from assay.platforms.cloud import google
from assay.platforms.cloud.provider import LABEL, check_name, check_zone

ENDPOINT = "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU"  # gcloud's own variable for another endpoint
_ROLE = "TPU Admin"
_POLL = 5.0  # seconds between polls of a node that is being created
_LOST_STATES = ("TERMINATED", "PREEMPTED", "DELETING", "STOPPED")
ProgressCallback = Callable[[str], None]


class TpuRequest(msgspec.Struct, frozen=True, kw_only=True):
    """PerfZero's --tpu_parameters."""

    name: str
    project: str
    zone: str
    size: str  # v3-8
    version: str  # of the runtime
    version_id: str = ""  # requested version of workers, in place of it
    started: bool = False  # it exists, is used, and stays

    def __post_init__(self) -> None:
        check_name(self.name)
        check_zone(self.zone)
        for text in (self.project, self.size, self.version, self.version_id or "-"):
            if not text or not text.isprintable() or "/" in text:
                raise UsageError(
                    f"'{text[:60]}' is not a valid value for a TPU.", hint="size: v3-8"
                )

    @property
    def path(self) -> str:
        return f"projects/{self.project}/locations/{self.zone}/nodes/{self.name}"


@contextmanager
def node(
    request: TpuRequest, say: ProgressCallback, timeout: float = 900.0
) -> Iterator[dict[str, str]]:
    """Create a node for the block and delete it afterwards; yields the version of its workers. An
    existing node is only changed to a requested version."""
    client = _client()
    state = _state(client, request)
    if request.started:
        if not state:
            raise UsageError(
                f"There is no TPU {request.name} in {request.zone}.",
                hint="Remove using_prestarted_tpu to create one.",
            )
        yield _with_version(client, request, timeout, say)
        return
    if state:
        raise UsageError(
            f"The TPU {request.name} exists already.",
            hint='Use it with "using_prestarted_tpu": "true", or delete it first.',
        )
    say(f"TPU {request.name}: creating …")
    try:
        _create(client, request)
        _await(client, request, timeout)
        yield _with_version(client, request, timeout, say)
    finally:
        say(f"TPU {request.name}: {_delete(client, request)}")


def _create(client: Any, request: TpuRequest) -> None:
    from google.cloud import tpu_v2

    new_node = tpu_v2.Node(
        accelerator_type=request.size, runtime_version=request.version, labels={LABEL: "1"}
    )
    with google.error_text(f"create the TPU {request.name}", _ROLE):
        parent = request.path.partition("/nodes/")[0]
        client.create_node(parent=parent, node_id=request.name, node=new_node)


def _with_version(
    client: Any,
    request: TpuRequest,
    timeout: float,
    say: ProgressCallback,
) -> dict[str, str]:
    """Switch to the requested version, if any; returns the version of the workers."""
    with google.error_text(f"look at the TPU {request.name}", _ROLE):
        endpoints = client.get_node(name=request.path, retry=None).network_endpoints
    addresses = [endpoint.ip_address for endpoint in endpoints if endpoint.ip_address]
    if request.version_id:
        if not addresses:
            raise ServiceUnavailableError(
                f"The TPU {request.name} has no addresses of workers.", hint="Try again later."
            )
        say(f"TPU {request.name}: version {request.version_id} …")
        request_version(addresses, request.version_id)
        _await(client, request, timeout)
    return read_version(addresses)


def _await(client: Any, request: TpuRequest, timeout: float) -> None:
    end = time.monotonic() + timeout
    while (state := _state(client, request)) != "READY":
        if state in _LOST_STATES or time.monotonic() > end:
            raise ServiceUnavailableError(
                f"The TPU {request.name} is {state or 'missing'}, and did not become ready.",
                hint="Try another zone or size.",
            )
        time.sleep(_POLL)


def _delete(client: Any, request: TpuRequest) -> str:
    """Delete a node; returns a message also for a failure, which must not hide an earlier error."""
    try:
        if not _state(client, request):
            return "already deleted"
        with google.error_text(f"delete the TPU {request.name}", _ROLE):
            client.delete_node(name=request.path)
    except AssayError as error:
        return f"NOT DELETED, and costs money: {error}"
    return "deleted"


def _state(client: Any, request: TpuRequest) -> str:
    """READY, CREATING, …; "" if the node does not exist."""
    from google.api_core.exceptions import NotFound

    with google.error_text(f"look at the TPU {request.name}", _ROLE):
        try:
            return str(client.get_node(name=request.path, retry=None).state.name)
        except NotFound:
            return ""


def _client() -> Any:
    try:
        from google.cloud import tpu_v2
    except ImportError:
        raise google.missing_reason("google-cloud-tpu", "cloud") from None
    return google.client_at(tpu_v2.TpuClient, ENDPOINT, transport="rest")


PORT = 8475
_SECONDS = 60.0  # a restarting worker answers late
_MAX_RESPONSE = 1 << 20  # bytes of an answer


def request_version(addresses: Iterable[str], version_id: str) -> None:
    """Restart each worker with this version if it runs another."""
    for address in addresses:
        try:
            _answer(address, f"/{quote(version_id, safe='')}?restartType=ifNeeded", b"")
        except (OSError, ValueError) as error:
            raise ServiceUnavailableError(
                f"The TPU worker {address} did not accept the version {version_id[:60]} ({error}).",
                hint="Its port 8475 is accessible from the same network only.",
            ) from None


def read_version(addresses: Iterable[str]) -> dict[str, str]:
    """The version of the first reachable worker, with PerfZero's names; empty if there is none."""
    for address in addresses:
        try:
            answer = json.loads(_answer(address, ""))
            names = {
                "hash": "currentVersion",
                "branch": "buildLabel",
                "piper_id": "piperOriginRevId",
            }
            version = {ours: str(answer.get(theirs, "")) for ours, theirs in names.items()}
        except (OSError, ValueError, AttributeError):
            continue
        return {"url": "", **version}
    return {}


def _answer(address: str, more: str, data: bytes | None = None) -> Any:
    """Workers have addresses of the TPU's network, which proxies do not reach."""
    url = f"http://{_host(address)}:{PORT}/requestversion{more}"
    try:
        with build_opener(ProxyHandler({})).open(Request(url, data), timeout=_SECONDS) as answer:
            return answer.read(_MAX_RESPONSE)
    except URLError as error:
        raise OSError(error.reason) from None


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address
