"""Alerts: a webhook, a mail or a command hears what was found; one that fails is only said."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from email.message import EmailMessage

import msgspec

from assay.core.errors import UsageError
from assay.core.redaction import safe_text

TIMEOUT = 10.0  # seconds, for each
PASSWORD = "ASSAY_SMTP_PASSWORD"  # the variable that holds it: never on the command line
_HINT = "https://…, smtp://HOST:PORT?to=a@b.c or cmd:COMMAND"
Send = Callable[[str, str, bytes, float], None]  # where, text, document, seconds


def check_places(places: Sequence[str]) -> None:
    """Refused before anything is measured."""
    for place in places:
        _sender(place)


def send_all(
    places: Sequence[str], text: str, document: bytes, timeout: float = TIMEOUT
) -> list[str]:
    """Tell every place; how each fared, in words. None of them can lose what was found."""
    return list(_send_each(places, text, document, timeout))


def _send_each(places: Sequence[str], text: str, document: bytes, timeout: float) -> Iterator[str]:
    for place in places:
        name = _display_place(place)
        try:
            _sender(place)(place, text, document, timeout)
            yield f"alert to {name}: delivered"
        except Exception as error:  # an outsider's failure is a finding, never ours
            yield f"alert to {name}: FAILED ({safe_text(_reason(error))})"


def _sender(place: str) -> Send:
    scheme = place.partition(":")[0].lower()
    parts = urllib.parse.urlsplit(place)
    if scheme in {"http", "https"} and parts.hostname:
        return _webhook
    if scheme in {"smtp", "smtps"} and parts.hostname and _recipients(place):
        return _mail
    if scheme == "cmd" and shlex.split(place.partition(":")[2]):
        return _command
    raise UsageError(f"'{_display_place(place)}' is no place for an alert.", hint=_HINT)


def _webhook(place: str, text: str, document: bytes, timeout: float) -> None:
    """As Slack, Mattermost and Discord's /slack take it: a JSON object with a text."""
    body = msgspec.json.encode({"text": text, "assay": msgspec.Raw(document)})
    request = urllib.request.Request(
        place, data=body, headers={"Content-Type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        answer.read(1024)


def _mail(place: str, text: str, document: bytes, timeout: float) -> None:
    import smtplib

    parts = urllib.parse.urlsplit(place)
    message = EmailMessage()
    message["Subject"] = text.splitlines()[0]
    options = urllib.parse.parse_qs(parts.query)
    message["From"] = options.get("from", ["assay@localhost"])[0]
    message["To"] = ", ".join(_recipients(place))
    message.set_content(text)
    message.add_attachment(document, "application", "json", filename="check.json")
    kind = smtplib.SMTP_SSL if parts.scheme == "smtps" else smtplib.SMTP
    with kind(parts.hostname or "", parts.port or 0, timeout=timeout) as server:
        if parts.username:
            with contextlib.suppress(smtplib.SMTPNotSupportedError):
                server.starttls()
            server.login(parts.username, parts.password or os.environ.get(PASSWORD, ""))
        server.send_message(message)


def _command(place: str, text: str, document: bytes, timeout: float) -> None:
    """Without a shell; the document is its input, and the text in ASSAY_ALERT."""
    subprocess.run(
        shlex.split(place.partition(":")[2]),
        input=document,
        env={**os.environ, "ASSAY_ALERT": text},
        timeout=timeout,
        check=True,
        capture_output=True,
    )


def _recipients(place: str) -> list[str]:
    return urllib.parse.parse_qs(urllib.parse.urlsplit(place).query).get("to", [])


def _display_place(place: str) -> str:
    """Without what could be a secret: a webhook's path is one."""
    if place.lower().startswith("cmd:"):
        return safe_text(place)
    parts = urllib.parse.urlsplit(place)
    return f"{parts.scheme}://{parts.hostname}" if parts.hostname else safe_text(place)


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"it answered {error.code} {error.reason}"
    if isinstance(error, subprocess.CalledProcessError):
        return f"it left with {error.returncode}"
    if isinstance(error, TimeoutError | subprocess.TimeoutExpired) or "timed out" in str(error):
        return "it took too long"
    return f"{type(error).__name__}: {error}"
