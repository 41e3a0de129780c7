"""This machine: its noise, what would help, its peaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from assay.core import settings
from assay.core.progress import ignore
from assay.core.settings import Home

if TYPE_CHECKING:
    from assay.measure.machine.fold_core_diagnosis import Checkup


def doctor(
    quick: bool = False, home: Home = None, progress: Callable[[str], None] = ignore
) -> Checkup:
    """This machine: its noise now, what would help, its measured peaks, which are kept."""
    from assay.measure.machine.doctor import examine

    return examine(settings.home(home), quick, progress)
