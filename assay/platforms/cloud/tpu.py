"""A TPU node for as long as something runs: made, waited for, and deleted whatever happens."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from assay.core.cloud import LABEL, StockoutError, check_name, check_zone
from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.objects import ServiceAwayError
from assay.core.redaction import without_tokens

ENDPOINT = "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU"  # gcloud's own variable for another endpoint
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

    def __post_init__(self) -> None:
        check_name(self.name)
        check_zone(self.zone)
        for text in (self.project, self.size, self.version):
            if not text or not text.isprintable() or "/" in text:
                raise UsageError(f"'{text[:60]}' is no word of a TPU.", hint="size: v3-8")

    @property
    def path(self) -> str:
        return f"projects/{self.project}/locations/{self.zone}/nodes/{self.name}"


@contextmanager
def node(wanted: TpuRequest, say: Say, timeout: float = 900.0) -> Iterator[None]:
    """The node is ready inside, and gone afterwards. One that was there before is not touched."""
    client = _client()
    if _state(client, wanted):
        raise UsageError(
            f"The TPU {wanted.name} is there already.",
            hint='Use it with "using_prestarted_tpu": "true", or delete it first.',
        )
    say(f"TPU {wanted.name}: being made …")
    try:
        _create(client, wanted)
        _await(client, wanted, timeout)
        yield
    finally:
        say(f"TPU {wanted.name}: {_deleted(client, wanted)}")


def _create(client: Any, wanted: TpuRequest) -> None:  # noqa: ANN401 (google's)
    from google.cloud import tpu_v2

    made = tpu_v2.Node(
        accelerator_type=wanted.size, runtime_version=wanted.version, labels={LABEL: "1"}
    )
    with _in_words(f"make the TPU {wanted.name}"):
        parent = wanted.path.partition("/nodes/")[0]
        client.create_node(parent=parent, node_id=wanted.name, node=made)


def _await(client: Any, wanted: TpuRequest, timeout: float) -> None:  # noqa: ANN401
    end = time.monotonic() + timeout
    while (state := _state(client, wanted)) != "READY":
        if state in _LOST or time.monotonic() > end:
            raise ServiceAwayError(
                f"The TPU {wanted.name} is {state or 'not there'}, and did not become ready.",
                hint="Try another zone or size.",
            )
        time.sleep(_POLL)


def _deleted(client: Any, wanted: TpuRequest) -> str:  # noqa: ANN401
    """In words; a failure is said rather than raised, so that it hides none before it."""
    try:
        if not _state(client, wanted):
            return "not there any more"
        with _in_words(f"delete the TPU {wanted.name}"):
            client.delete_node(name=wanted.path)
    except AssayError as error:
        return f"NOT DELETED, and costs money: {error}"
    return "deleted"


def _state(client: Any, wanted: TpuRequest) -> str:  # noqa: ANN401
    """READY, CREATING, …; "" where there is no such node."""
    from google.api_core.exceptions import NotFound

    with _in_words(f"look at the TPU {wanted.name}"):
        try:
            return str(client.get_node(name=wanted.path, retry=None).state.name)
        except NotFound:
            return ""


def _client() -> Any:  # noqa: ANN401
    try:
        from google.auth.credentials import AnonymousCredentials
        from google.auth.exceptions import GoogleAuthError
        from google.cloud import tpu_v2
    except ImportError:
        raise NotPossibleError(
            "TPUs need the package google-cloud-tpu, which is not installed.",
            hint="pip install 'assay[cloud]'",
        ) from None
    given: dict[str, Any] = {"transport": "rest"}
    place = os.environ.get(ENDPOINT, "")
    if place:
        given["client_options"] = {"api_endpoint": place}
    if place.startswith("http://"):
        given["credentials"] = AnonymousCredentials()
    try:
        return tpu_v2.TpuClient(**given)
    except (GoogleAuthError, ValueError, OSError) as error:
        raise NotPossibleError(
            f"There are no credentials of Google Cloud here: {_line(error)}",
            hint="gcloud auth application-default login, or --gcloud_key_file_url.",
        ) from None


@contextmanager
def _in_words(what: str) -> Iterator[None]:
    from google.api_core import exceptions
    from google.auth.exceptions import GoogleAuthError
    from requests.exceptions import RequestException

    try:
        yield
    except (exceptions.Forbidden, exceptions.Unauthorized, GoogleAuthError) as error:
        raise NotPossibleError(
            f"You have no permission to {what}: {_line(error)}",
            hint="The role TPU Admin is needed.",
        ) from None
    except exceptions.TooManyRequests as error:
        raise StockoutError(
            f"It was not possible to {what}: {_line(error)}", hint="Try another zone."
        ) from None
    except exceptions.ClientError as error:
        raise UsageError(
            f"It was not possible to {what}: {_line(error)}", hint="See zone, size and version."
        ) from None
    except (exceptions.GoogleAPICallError, RequestException) as error:
        raise ServiceAwayError(
            f"It was not possible to {what}: {_line(error)}", hint="Try again later."
        ) from None


def _line(error: Exception) -> str:
    return without_tokens(" ".join(str(error).split()))[:300]
