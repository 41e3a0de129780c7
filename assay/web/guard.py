"""Who may read the dashboard, and what its pages may load: headers, host names, a token."""

from __future__ import annotations

import hmac
import ipaddress
import re
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
COOKIE = "assay_token"
HOST_HEADER = re.compile(r"(?:\[(?P<address>[0-9a-fA-F:.]+)\]|(?P<name>[\w.-]+))(?::\d{1,5})?")


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_loopback_header(host: str) -> bool:
    """Whether the value of a Host header, with or without a port, names this machine."""
    match = HOST_HEADER.fullmatch(host)
    return match is not None and is_loopback(match["address"] or match["name"])


class Guard:
    """Allows only reads by authorized clients. Without a token, only requests to a loopback name
    are answered, against DNS rebinding."""

    def __init__(self, app: ASGIApp, token: str = "") -> None:
        self.app = app
        self.token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        answer = refusal or self.app

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await answer(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        if scope["method"] not in {"GET", "HEAD"}:
            return PlainTextResponse("The dashboard only reads.", 405)
        headers = Headers(scope=scope)
        if not self.token:
            known = is_loopback_header(headers.get("host", ""))
            return None if known else PlainTextResponse("Unknown host.", 421)
        return self._token_refusal(scope, headers)

    def _token_refusal(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        cookies = cookie_parser(headers.get("cookie", ""))
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        tokens = [bearer, cookies.get(COOKIE, "")]
        if any(self._is_token(text) for text in tokens):
            return None
        if not any(name == "token" and self._is_token(value) for name, value in query):
            return PlainTextResponse(
                "This dashboard needs its token: open the address that assay serve printed.", 401
            )
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        answer = RedirectResponse(scope["path"] + (f"?{rest}" if rest else ""), 303)
        answer.set_cookie(COOKIE, self.token, httponly=True, samesite="strict")
        return answer

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self.token.encode())
