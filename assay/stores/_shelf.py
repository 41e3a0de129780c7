"""Where the files of a run are: in its folder or, of old ones, in a pack; the index knows which."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import StoreError, UsageError
from assay.core.records import Plan, Result
from assay.stores import folders

if TYPE_CHECKING:
    from assay.stores._packs import Pack  # with zipfile: where nothing is packed, none is loaded

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*\.zip")  # of a pack
Ask = Callable[[str, tuple[object, ...]], list[sqlite3.Row]]


class Shelf:
    """Run folders and packs of one home."""

    def __init__(self, home: Path, ask: Ask) -> None:
        self.runs, self._packs, self._ask = home / "runs", home / "packs", ask
        self._opened: dict[str, Pack] = {}

    def folder(self, run: str) -> Path:
        """Of a run, restored where only a pack holds it."""
        place = self.runs / run
        name = run.partition("/")[0]
        if not (self.runs / name).is_dir() and (pack := self._pack_of(name)):
            from assay.stores import _packs as packs

            packs.restore(pack, name, self.runs)
        return place

    def plan(self, run: str) -> Plan:
        return folders.read_plan(self.runs / run, self._reader(run))

    def own(self, result_id: str) -> Result:
        """A result under its own id."""
        return folders.read_own(self.runs / result_id, self._reader(*result_id.split("/", 1)))

    def document(self, run: str, name: str) -> bytes | None:
        read = self._reader(run)
        return read(name) if read else folders.read_document(self.runs / run / name)

    def packed(self, text: str) -> list[str]:
        """Packed runs of a beginning or an ending, at most five; of "", the newest."""
        if not text:
            rows = self._ask("SELECT max(run) AS run FROM packed HAVING count(*)", ())
        else:
            like = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            rows = self._ask(
                "SELECT run FROM packed WHERE run LIKE ? ESCAPE '\\' OR run LIKE ? ESCAPE '\\' "
                "LIMIT 5",
                (f"{like}%", f"%{like}"),
            )
        return [row["run"] for row in rows]

    def new_packs(self, problems: list[str]) -> Iterator[tuple[str, list[str]]]:
        """Packs that the index does not know, each with the ids of its results; the index is told
        of a pack when the caller comes back for the next. Those that are gone are forgotten."""
        there = _listed(self._packs)
        known = {row["name"] for row in self._ask("SELECT name FROM packs", ())}
        for name in known.difference(there):
            self._forget(name)
        for name in (name for name in there if name not in known):
            try:
                pack = self._pack(name)
            except StoreError as error:
                problems.append(f"{error} {error.hint}")
                continue
            for run in pack.runs:
                self._ask("INSERT OR REPLACE INTO packed VALUES (?, ?)", (run, name))
            yield name, [f"{run}/{case}" for run in pack.runs for case in _cases(pack.runs[run])]
            self._ask("INSERT OR IGNORE INTO packs VALUES (?)", (name,))

    def packable(self, before: str) -> list[str]:
        """Runs in folders of their own that are whole, and whose every result is older."""
        rows = self._ask(
            "SELECT run FROM results WHERE run IN (SELECT run FROM whole_runs) "
            "GROUP BY run HAVING substr(max(started), 1, length(?1)) < ?1 ORDER BY run",
            (before,),
        )
        return [row["run"] for row in rows if (self.runs / row["run"]).is_dir()]

    def pack(self, runs: Sequence[str]) -> Iterator[Path]:
        """Runs into packs; once the caller has told the index of one, its folders go."""
        from assay.stores import _packs as packs

        packs.sweep(self.runs)
        idle = [run for run in runs if self._idle(run)]
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
        most = packs.MOST_RUNS
        for number, some in enumerate(idle[at : at + most] for at in range(0, len(idle), most)):
            before: dict[str, set[str]] = {}
            for run in some:
                if pack := self._pack_of(run):
                    before.setdefault(pack.path.name, set()).add(run)
            path = packs.write(self._packs, f"{stamp}-{number:04d}.zip", self.runs, some)
            yield path
            list(packs.leave(self.runs, self._pack(path.name)))
            for name, gone in before.items():
                self._drop(self._pack(name), gone)

    def drop(self, run: str) -> None:
        """Out of its pack, for good."""
        if pack := self._pack_of(run):
            self._drop(pack, {run})
            self._ask("DELETE FROM packed WHERE run = ?", (run,))

    def _idle(self, run: str) -> bool:
        """Whether its folder is there and nobody measures it."""
        try:
            with folders.locked(self.runs / run):
                return True
        except (StoreError, UsageError):
            return False

    def _reader(self, run: str, case: str = "") -> folders.Reader | None:
        """None where the folder is there."""
        if (self.runs / run).is_dir():
            return None
        pack = self._pack_of(run)
        if pack is None:
            return None
        read, within = pack.read, f"{case}/" if case else ""
        return lambda name: read(run, within + name)

    def _pack_of(self, run: str) -> Pack | None:
        rows = self._ask("SELECT pack FROM packed WHERE run = ?", (run,))
        return self._pack(rows[0]["pack"]) if rows else None

    def _pack(self, name: str) -> Pack:
        if name not in self._opened:
            from assay.stores._packs import Pack

            self._opened[name] = Pack(self._packs / name)
        return self._opened[name]

    def _drop(self, pack: Pack, runs: set[str]) -> None:
        from assay.stores import _packs as packs

        packs.drop(pack, runs)
        pack.close()
        self._opened.pop(pack.path.name, None)

    def _forget(self, name: str) -> None:
        self._ask("DELETE FROM packed WHERE pack = ?", (name,))
        self._ask("DELETE FROM packs WHERE name = ?", (name,))
        if name in self._opened:
            self._opened.pop(name).close()


def _cases(names: Sequence[str]) -> list[str]:
    """Numbers of the cases with a result."""
    parts = (name.partition("/") for name in names)
    return sorted(
        case for case, _, rest in parts if rest == "result.json" and folders.NUMBER.fullmatch(case)
    )


def _listed(packs: Path) -> list[str]:
    """Names of the packs there, oldest first."""
    if not packs.is_dir():
        return []
    with folders.explained(packs):
        return sorted(entry.name for entry in packs.iterdir() if NAME.fullmatch(entry.name))
