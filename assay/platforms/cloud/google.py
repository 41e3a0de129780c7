"""Clients of Google's libraries, and conversion of their errors."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.objects import ServiceUnavailableError
from assay.core.redaction import safe_message
from assay.platforms.cloud.provider import StockoutError

_STOCKOUT = re.compile(r"ZONE_RESOURCE_POOL_EXHAUSTED|STOCKOUT|does not have enough resources")
_QUOTA = re.compile(r"QUOTA|quota")


def client(kind: Callable[..., Any], anonymous: bool = False, **kwargs: object) -> Any:
    """Create a client with the library's credentials, or without any for an emulator."""
    from google.auth.credentials import AnonymousCredentials
    from google.auth.exceptions import GoogleAuthError

    if anonymous:
        kwargs["credentials"] = AnonymousCredentials()
    try:
        return kind(**kwargs)
    except (GoogleAuthError, ValueError, OSError) as error:
        raise NotPossibleError(
            f"There are no credentials of Google Cloud here: {line(error)}",
            hint="gcloud auth application-default login, or GOOGLE_APPLICATION_CREDENTIALS.",
        ) from None


def client_at(kind: Callable[..., Any], variable: str, **kwargs: object) -> Any:
    """Create a client for the endpoint in an environment variable, if it is set."""
    endpoint = os.environ.get(variable, "")
    if endpoint:
        kwargs["client_options"] = {"api_endpoint": endpoint}
    return client(kind, endpoint.startswith("http://"), **kwargs)


def missing_reason(package: str, extra: str) -> NotPossibleError:
    return NotPossibleError(
        f"This needs the package {package}, which is not installed.",
        hint=f"pip install 'assay-lab[{extra}]'",
    )


@contextmanager
def error_text(what: str, role: str) -> Iterator[None]:
    """Convert errors of an action to an AssayError; `role`: the role that it needs."""
    from google.api_core import exceptions
    from google.auth.exceptions import GoogleAuthError
    from requests.exceptions import RequestException

    sentence = f"It was not possible to {what}"
    try:
        yield
    except (exceptions.Forbidden, exceptions.Unauthorized, GoogleAuthError) as error:
        if _QUOTA.search(str(error)):
            raise problem(sentence, line(error)) from None
        raise NotPossibleError(
            f"You have no permission to {what}: {line(error)}", hint=f"The role {role} is needed."
        ) from None
    except exceptions.TooManyRequests as error:
        raise StockoutError(f"{sentence}: {line(error)}", hint="Try another zone.") from None
    except exceptions.ClientError as error:
        raise UsageError(
            f"{sentence}: {line(error)}", hint="Check its name, zone, type and version."
        ) from None
    except (exceptions.GoogleAPICallError, RequestException) as error:
        raise problem(sentence, line(error)) from None


def problem(sentence: str, text: str) -> AssayError:
    """The error for a message of the service: stockout, quota, or another."""
    text = safe_message(text)[:300]
    if _STOCKOUT.search(text):
        return StockoutError(f"{sentence}: {text}", hint="Add zones: --zone A --zone B")
    if _QUOTA.search(text):
        return NotPossibleError(f"{sentence}: {text}", hint="Request more quota, or use less.")
    return ServiceUnavailableError(f"{sentence}: {text}", hint="Try again later.")


def line(error: Exception) -> str:
    return safe_message(" ".join(str(error).split()))[:300]
