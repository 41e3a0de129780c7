"""What Google's client libraries share: how a client is made, and what they raise, in words."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.objects import ServiceAwayError
from assay.core.redaction import without_tokens
from assay.platforms.cloud.provider import StockoutError

_STOCKOUT = re.compile(r"ZONE_RESOURCE_POOL_EXHAUSTED|STOCKOUT|does not have enough resources")
_QUOTA = re.compile(r"QUOTA|quota")


def client(kind: Callable[..., Any], anonymous: bool = False, **given: Any) -> Any:
    """Credentials are found by the library; an emulator on this machine takes nobody's."""
    from google.auth.credentials import AnonymousCredentials
    from google.auth.exceptions import GoogleAuthError

    if anonymous:
        given["credentials"] = AnonymousCredentials()
    try:
        return kind(**given)
    except (GoogleAuthError, ValueError, OSError) as error:
        raise NotPossibleError(
            f"There are no credentials of Google Cloud here: {line(error)}",
            hint="gcloud auth application-default login, or GOOGLE_APPLICATION_CREDENTIALS.",
        ) from None


def client_at(kind: Callable[..., Any], variable: str, **given: Any) -> Any:
    """The same, at the endpoint that a variable names, if it does."""
    place = os.environ.get(variable, "")
    if place:
        given["client_options"] = {"api_endpoint": place}
    return client(kind, place.startswith("http://"), **given)


def missing(package: str, extra: str) -> NotPossibleError:
    return NotPossibleError(
        f"This needs the package {package}, which is not installed.",
        hint=f"pip install 'assay[{extra}]'",
    )


@contextmanager
def in_words(what: str, role: str) -> Iterator[None]:
    """What goes wrong with `what`, as an AssayError; the role is the one that would be needed."""
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
            f"{sentence}: {line(error)}", hint="See its name, zone, type and version."
        ) from None
    except (exceptions.GoogleAPICallError, RequestException) as error:
        raise problem(sentence, line(error)) from None


def problem(sentence: str, text: str) -> AssayError:
    """By what the service says: none left here, too many for you, or not today."""
    text = without_tokens(text)[:300]
    if _STOCKOUT.search(text):
        return StockoutError(f"{sentence}: {text}", hint="Name more zones: --zone A --zone B")
    if _QUOTA.search(text):
        return NotPossibleError(f"{sentence}: {text}", hint="Ask for more quota, or fewer of it.")
    return ServiceAwayError(f"{sentence}: {text}", hint="Try again later.")


def line(error: Exception) -> str:
    return without_tokens(" ".join(str(error).split()))[:300]
