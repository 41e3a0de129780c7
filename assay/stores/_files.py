"""Run files, in a run folder or in a zip pack."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from assay.core.errors import StoreError, UsageError
from assay.core.records import Plan, Result
from assay.stores import folders

if TYPE_CHECKING:
    import tempfile

    from assay.stores._packs import Pack  # late: zipfile is only needed for packs

T = TypeVar("T")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*\.zip")  # of a pack
Ask = Callable[[str, tuple[object, ...]], list[sqlite3.Row]]


class RunFiles:
    """Run folders and packs of one home."""

    def __init__(self, home: Path, ask: Ask) -> None:
        self.home, self.runs, self._packs, self._ask = home, home / "runs", home / "packs", ask
        self._opened: dict[str, Pack] = {}
        self._spare: tempfile.TemporaryDirectory[str] | None = None

    def folder(self, run: str) -> Path:
        """The folder of a run, restored if it is only in a pack."""
        path = self.runs / run
        name = run.partition("/")[0]
        if not (self.runs / name).is_dir() and (pack := self._pack_of(name)):
            from assay.stores import _packs as packs

            path = self._place_to_restore() / run
            if not (path.parent if "/" in run else path).is_dir():
                packs.restore(pack, name, self._place_to_restore())
        return path

    def _place_to_restore(self) -> Path:
        """The folder of runs; for a store that cannot be written, a temporary one."""
        if os.access(self.runs, os.W_OK):
            return self.runs
        if self._spare is None:
            import tempfile  # rarely needed, slow import

            self._spare = tempfile.TemporaryDirectory(prefix="assay-")
        return Path(self._spare.name)

    def plan(self, run: str) -> Plan:
        return self._read(run, lambda read: folders.read_plan(self.runs / run, read))

    def result(self, result_id: str) -> Result:
        """A result under its own id."""
        folder = self.runs / result_id
        return self._read(result_id, lambda read: folders.read_stored_result(folder, read))

    def document(self, run: str, name: str) -> bytes | None:
        path = self.runs / run / name
        return self._read(run, lambda read: read(name) if read else folders.read_document(path))

    def sizes(self, result_id: str) -> list[int] | None:
        """Bytes of each file of a result in a pack; None if it has a folder."""
        run, _, case = result_id.partition("/")
        if (self.runs / run).is_dir() or not (pack := self._pack_of(run)):
            return None
        return pack.sizes(run, f"{case}/")

    def find_packed(self, text: str) -> list[str]:
        """Packed runs with a prefix or suffix, at most five; for "", the newest."""
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
        """Packs that are not in the index, with the ids of their results; a pack is added to the
        index when the caller requests the next. Missing packs are removed from it."""
        files = _list_packs(self._packs)
        known = {row["name"] for row in self._ask("SELECT name FROM packs", ())}
        for name in known.difference(files):
            self._forget(name)
        for name in (name for name in files if name not in known):
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
        """Complete runs in folders with only older results."""
        rows = self._ask(
            "SELECT run FROM results WHERE run IN (SELECT run FROM whole_runs) "
            "GROUP BY run HAVING substr(max(started), 1, length(?1)) < ?1 ORDER BY run",
            (before,),
        )
        return [row["run"] for row in rows if (self.runs / row["run"]).is_dir()]

    def pack(self, runs: Sequence[str]) -> Iterator[Path]:
        """Pack runs; the folders are removed when the caller has indexed the pack."""
        from assay.stores import _packs as packs

        with packs.lock_packs(self.home):
            yield from self._pack_idle(runs)

    def _pack_idle(self, runs: Sequence[str]) -> Iterator[Path]:
        from assay.stores import _packs as packs

        packs.sweep(self.runs, self._packs)
        idle = [run for run in runs if self._idle(run)]
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
        size = packs.MAX_RUNS
        for number, part in enumerate(
            idle[start : start + size] for start in range(0, len(idle), size)
        ):
            old_packs = self._by_pack(part)
            path = packs.write(self._packs, f"{stamp}-{number:04d}.zip", self.runs, part)
            yield path
            list(packs.remove_packed(self.runs, self._pack(path.name)))
            for name, old_runs in old_packs.items():
                self._drop(name, old_runs)

    def drop(self, runs: Sequence[str]) -> None:
        """Remove runs from their packs; each pack is rewritten once."""
        if not self._by_pack(runs):
            return
        from assay.stores import _packs as packs

        with packs.lock_packs(self.home):
            for name, dropped in self._by_pack(runs).items():
                self._drop(name, dropped)
                for run in dropped:
                    self._ask("DELETE FROM packed WHERE run = ?", (run,))

    def hide(self, runs: Sequence[str]) -> None:
        """Forget in which pack runs are, without changing the packs."""
        for run in runs:
            self._ask("DELETE FROM packed WHERE run = ?", (run,))

    def without_folder(self, runs: Sequence[str]) -> list[str]:
        """Runs without a folder."""
        packed = {run for members in self._by_pack(runs).values() for run in members}
        return [run for run in runs if run in packed and not (self.runs / run).is_dir()]

    def _by_pack(self, runs: Sequence[str]) -> dict[str, set[str]]:
        """Packs that contain the runs."""
        packs: dict[str, set[str]] = {}
        for run in runs:
            for row in self._ask("SELECT pack FROM packed WHERE run = ?", (run,)):
                packs.setdefault(row["pack"], set()).add(run)
        return packs

    def _idle(self, run: str) -> bool:
        """Whether it has a folder that is not locked."""
        try:
            with folders.lock_run(self.runs / run):
                return True
        except (StoreError, UsageError):
            return False

    def _read(self, path: str, read: Callable[[folders.Reader | None], T]) -> T:
        """Read from a run's folder or pack; retry if the folder was packed meanwhile."""
        run, _, case = path.partition("/")
        reader = self._reader(run, case)
        try:
            return read(reader)
        except StoreError:
            second_reader = self._reader(run, case) if reader is None else None
            if second_reader is None:
                raise
            return read(second_reader)

    def _reader(self, run: str, case: str) -> folders.Reader | None:
        """None if the run has a folder."""
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

    def _drop(self, name: str, runs: set[str]) -> None:
        """Reopened, because another process may have rewritten it."""
        from assay.stores import _packs as packs

        self._close(name)
        packs.drop(self._pack(name), runs)
        self._close(name)

    def _forget(self, name: str) -> None:
        self._ask("DELETE FROM packed WHERE pack = ?", (name,))
        self._ask("DELETE FROM packs WHERE name = ?", (name,))
        self._close(name)

    def _close(self, name: str) -> None:
        if name in self._opened:
            self._opened.pop(name).close()


def _cases(names: Sequence[str]) -> list[str]:
    """Numbers of the cases with a result."""
    parts = (name.partition("/") for name in names)
    return sorted(
        case for case, _, rest in parts if rest == "result.json" and folders.NUMBER.fullmatch(case)
    )


def _list_packs(packs: Path) -> list[str]:
    """Names of packs, oldest first."""
    if not packs.is_dir():
        return []
    with folders.explain_os_errors(packs):
        return sorted(entry.name for entry in packs.iterdir() if NAME.fullmatch(entry.name))
