"""A real HTTP server on this machine that misbehaves as told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """What is served, and how; `asked` is what clients sent as Range, in order."""

    body: bytes
    status: int = 200
    ranges: bool = True
    cuts: list[int] = field(default_factory=list)  # bytes each answer is cut after; then whole
    cut_always: int | None = None
    etag: str = '"one"'
    length: bool | str = True  # a text is sent as it is
    asked: list[str] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(site: Site) -> Iterator[Site]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"site": site}))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}/file"
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def do_GET(self):
        site, asked = self.site, self.headers.get("Range", "")
        site.asked.append(asked)
        if site.status != 200:
            self.send_error(site.status)
            return
        start = self._start(asked)
        if start >= len(site.body):
            self._headers(416, 0, f"bytes */{len(site.body)}")
            return
        span = f"bytes {start}-{len(site.body) - 1}/{len(site.body)}" if start else ""
        left = site.body[start:]
        self._headers(206 if start else 200, len(left), span)
        self.wfile.write(left[: site.cuts.pop(0) if site.cuts else site.cut_always])
        self.close_connection = True

    def _start(self, asked):
        same = self.headers.get("If-Range", self.site.etag) == self.site.etag
        return int(asked.removeprefix("bytes=")[:-1]) if asked and self.site.ranges and same else 0

    def _headers(self, status, length, span):
        self.send_response(status)
        if self.site.length:
            told = str(length) if self.site.length is True else self.site.length
            self.send_header("Content-Length", told)
        if self.site.etag:
            self.send_header("ETag", self.site.etag)
        if span:
            self.send_header("Content-Range", span)
        self.end_headers()

    def log_message(self, *_):
        pass
