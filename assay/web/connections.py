"""Limits on connections to the dashboard that send no request: in time and in number."""

from __future__ import annotations

from asyncio import Transport
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0  # from connection, or the end of a response, to a whole request
MAX_WAITING = 256


class LimitedConnection(H11Protocol):  # type: ignore[misc]
    """A connection that is closed after HEADER_SECONDS without a request. When too many of them
    wait, the oldest is dropped: half-open connections lock nobody out."""

    waiting: ClassVar[dict[LimitedConnection, Any]] = {}  # with their timers, oldest first

    def connection_made(self, transport: Transport) -> None:
        super().connection_made(transport)
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        self._wait_for_request()
        super().on_response_complete()  # handles a request that is here already

    def _wait_for_request(self) -> None:
        self._stop_waiting()
        self.waiting[self] = self.loop.call_later(HEADER_SECONDS, self.transport.close)
        if len(self.waiting) > max_waiting():
            oldest = next(iter(self.waiting))
            oldest._stop_waiting()
            oldest.transport.abort()

    def _stop_waiting(self) -> None:
        timer = self.waiting.pop(self, None)
        if timer is not None:
            timer.cancel()


def max_waiting() -> int:
    """A quarter of the files this process may open: the store needs some too."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MAX_WAITING
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_WAITING if soft < 0 else max(4, min(MAX_WAITING, soft // 4))
