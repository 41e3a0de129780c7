"""Pages of the dashboard: a file here offers one or several in `PAGES`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from assay.core.contracts import Store
    from assay.web.page import Page
    from assay.web.pages.findings import Findings


class PageRoute(NamedTuple):
    """A page and its address. The page gets the query, with the parts of the address by name."""

    path: str  # such as /runs/{run}
    page: Callable[[Store, dict[str, str], Findings], Page]
    title: str = ""  # in the navigation; "": not there
    position: int = 0  # in the navigation
    published: bool = False  # by `assay publish`


@cache
def routes() -> tuple[PageRoute, ...]:
    """Of all pages; those of the navigation in its order."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    pages = [page for module in modules for page in getattr(module, "PAGES", ())]
    return tuple(sorted(pages, key=lambda page: page.position))
