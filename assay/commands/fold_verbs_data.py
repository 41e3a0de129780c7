"""Datasets: which are known, where they are, how to have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from assay.core import settings
from assay.core.progress import ignore
from assay.core.settings import Home

if TYPE_CHECKING:
    from assay.datasets.library import Held


def known_data(home: Home = None) -> list[Held]:
    """Every dataset that is known: where it is here, or how to get it."""
    from assay.datasets.library import held

    return held(settings.home(home))


def fetch_data(
    *names: str, home: Home = None, progress: Callable[[str, int, int | None], None] = ignore
) -> list[str]:
    """Have these datasets, from local files or by download; the places they are in."""
    from assay.datasets.fetch import fetch

    place = settings.home(home)
    return [found for name in names for found in fetch(name, place, progress)]
