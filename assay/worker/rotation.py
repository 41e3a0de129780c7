"""Steps that take another batch than the step before, from a ring prepared before timing."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.core.errors import EndingError
from assay.core.records import Value
from assay.core.sessions import Session, Stepped, TakesInputs

FRESH = 8  # batches of a ring
CACHES = 2  # cold: bytes of a ring, as a multiple of the last-level cache
MAX_BATCHES = 1 << 16
USUAL_CACHE = 64 << 20  # bytes, where the cache is not known, as on a GPU
CPU_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def rotate_inputs(session: Session, chosen: Value) -> dict[str, Value]:
    """Make every step take the next batch of a ring, unless `same` is chosen; facts about it."""
    if not isinstance(session, Stepped):
        return {}
    if not isinstance(session, TakesInputs):
        return {"inputs": "repeat"}
    if chosen == "same":
        return {"inputs": chosen}
    ring = [session.fresh_inputs(0)]
    size = max(1, sum(_sizes(ring[0])))
    count = FRESH if chosen == "fresh" else _cold_count(size)
    ring += [session.fresh_inputs(number) for number in range(1, count)]
    batches, step, set_inputs = itertools.cycle(ring), session.step, session.set_inputs

    def rotated_step() -> None:
        set_inputs(next(batches))
        step()

    session.step = rotated_step  # type: ignore[method-assign]
    return {"inputs": chosen, "input_batches": count, "input_bytes": count * size}


def last_level_cache(caches: Path = CPU_CACHES) -> int:
    """Bytes of the largest cache of the CPU, at least USUAL_CACHE."""
    sizes = [USUAL_CACHE]
    for file in caches.glob("index*/size"):
        number = re.fullmatch(r"(\d+)([KMG]?)", file.read_text().strip())
        sizes += [int(number[1]) * _UNITS[number[2]]] if number else []
    return max(sizes)


def _cold_count(size: int) -> int:
    count = max(FRESH, math.ceil(CACHES * last_level_cache() / size))
    if count > MAX_BATCHES:
        raise EndingError(
            "skipped",
            f"inputs is cold, but a batch has {size} bytes: {count} of them would be needed to "
            f"exceed the cache; use a larger batch_size, or inputs=fresh",
        )
    return count


def _sizes(tree: Any) -> Iterator[int]:
    """Bytes of every array in tuples, lists and dicts."""
    if isinstance(tree, Mapping):
        tree = list(tree.values())
    if isinstance(tree, tuple | list):
        for part in tree:
            yield from _sizes(part)
    elif hasattr(tree, "nbytes"):
        yield int(tree.nbytes)
    elif hasattr(tree, "shape") and hasattr(getattr(tree, "dtype", None), "size"):  # TensorFlow
        yield math.prod(tree.shape) * int(tree.dtype.size)
