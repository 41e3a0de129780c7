"""Old runs in few files: what a store that can do this offers, and what it says of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec


@runtime_checkable
class PackingStore(Protocol):
    """A store that can put old runs into few files, besides what every store does."""

    def packable(self, before: str) -> list[str]:
        """Runs that ended, have a folder of their own, and were measured before this date."""

    def pack(self, runs: Sequence[str]) -> list[Path]:
        """Put runs into packs, from which they are read as before; the files that were made."""

    def take_out(self, runs: Sequence[str], whole: Sequence[str]) -> list[str]:
        """Runs out of their packs, each of which is written anew once: those in `whole` for good,
        the others into folders; the ids of the results that are gone."""

    def packed_sizes(self, result_id: str) -> list[int] | None:
        """Bytes of each file of a result in a pack; None where it has a folder of its own."""


class Packed(msgspec.Struct, frozen=True, kw_only=True):
    """What became of runs that were packed."""

    runs: int
    files: int  # before
    bytes: int
    packs: tuple[str, ...]  # files after
    packed_bytes: int
    left: tuple[str, ...] = ()  # runs that are in use, or changed meanwhile
