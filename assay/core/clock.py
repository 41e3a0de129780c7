"""."""

from __future__ import annotations

import time

from assay.worker.timing import Clock

clock: Clock = time.perf_counter
