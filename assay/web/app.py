"""The dashboard as a web application: an address a page, each with a JSON twin."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from assay.commands.history.api import summarize_all
from assay.core.contracts import Store
from assay.core.errors import AssayError, StoreError, UsageError
from assay.core.records import Query
from assay.core.registry import open_store
from assay.core.settings import Home
from assay.web.guard import Guard
from assay.web.html import STATIC, page_html
from assay.web.page import Page, error_page, page_json
from assay.web.pages import PageRoute, result, routes
from assay.web.pages.findings import Findings

LONGEST = 2_000  # characters of a value in a query
TEXTS = {".log", ".json", ".txt", ".toml", ".csv", ".md"}


def application(home: Home = None, token: str = "") -> Guard:
    """The whole dashboard over one store. Without a token it answers loopback names only."""
    stores = _Stores(home)
    threading.Thread(target=_summarize, args=(home,), daemon=True).start()
    known = Findings(home)
    pages = [Route(route.path, _endpoint(stores, route, known)) for route in routes()]
    app = Starlette(
        routes=[
            *pages,
            Route("/files/{run}/{number}/{path:path}", _file(stores)),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        exception_handlers={HTTPException: _no_page, AssayError: _mistake},
    )
    return Guard(app, token)


def _summarize(home: Home) -> None:
    """Results from elsewhere, or of an older analysis, become points of their series. One whose
    folder is gone ends it: pages show what there is."""
    with suppress(AssayError), closing(open_store(home)) as store:
        summarize_all(store, Query())


class _Stores:
    """One store a thread: a connection to SQLite belongs to the thread that opened it."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._local = threading.local()

    def get(self) -> Store:
        if not hasattr(self._local, "store"):
            self._local.store = open_store(self.home)
        store: Store = self._local.store
        store.problems.clear()
        return store


def _endpoint(stores: _Stores, route: PageRoute, known: Findings) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        query = {**dict(request.query_params), **request.path_params}
        if any(len(value) > LONGEST or "\0" in value for value in query.values()):
            raise UsageError("That address is longer than any of this dashboard.", hint="Go to /")
        return _response(request, route.page(stores.get(), query, known))

    return answer


def _response(request: Request, page: Page) -> Response:
    """HTML, or the JSON twin where it is asked for by `format=json` or the Accept header."""
    accepted = request.headers.get("accept", "")
    if request.query_params.get("format") == "json" or accepted.startswith("application/json"):
        return Response(page_json(page), page.status, media_type="application/json")
    query = [(k, v) for k, v in request.query_params.items() if k != "format"]
    address = f"{request.url.path}?{urlencode([*query, ('format', 'json')])}"
    text = page_html(page, here=request.url.path, json=address)
    return HTMLResponse(text, page.status)


def _file(stores: _Stores) -> Callable[[Request], Response]:
    """A file of a result, as plain text or to be saved: never as a page."""

    def answer(request: Request) -> Response:
        params = request.path_params
        store = stores.get()
        [result_id] = store.find(f"{params['run']}/{params['number']}")
        folder = store.folder(result_id)
        file = folder / params["path"]
        if file not in result.result_files(folder):
            raise HTTPException(404, f"{result_id} has no file {params['path']}.")
        if file.suffix in TEXTS:
            return FileResponse(file, media_type="text/plain; charset=utf-8")
        return FileResponse(file, media_type="application/octet-stream", filename=file.name)

    return answer


def _mistake(request: Request, error: Exception) -> Response:
    assert isinstance(error, AssayError)
    status = 503 if isinstance(error, StoreError) else _status_of(error)
    return _response(request, error_page(status, str(error), error.hint))


def _status_of(error: AssayError) -> int:
    return 404 if str(error).startswith("There is no ") else 400


def _no_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status, detail = error.status_code, error.detail
    if detail == "Not Found":
        detail = f"There is no page {Path(request.url.path)}."
    return _response(request, error_page(status, detail, "The overview is at /."))
