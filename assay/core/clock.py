"""The clock of every measurement: monotonic, of the highest resolution that the system has."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]

clock: Clock = time.perf_counter
