"""Label, tag, pack and remove stored results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Protocol, runtime_checkable

import msgspec

from assay.core.contracts import SharedStore, Store
from assay.core.errors import UsageError
from assay.core.options import Argument, Flag, StoreUrl, accept_old_keywords
from assay.core.records import Query, Result
from assay.core.registry import open_store
from assay.core.series import series_of
from assay.core.units import as_integer
from assay.measure.baseline import DATE
from assay.measure.machine.environment import safe_tags
from assay.stores.runs import lock_run

Ids = Annotated[Sequence[str], Argument("ID…", complete="runs", required=True)]


class StoredFiles(msgspec.Struct, frozen=True, kw_only=True):
    """A stored result, and its size on disk."""

    result: Result
    files: int
    bytes: int


def count_files(
    ids: Ids,
    store: StoreUrl = None,
) -> list[StoredFiles]:
    """The results of these ids, with their sizes: what `remove` would remove."""
    with closing(open_store(store)) as results:
        return [_weigh(results, result) for result in _find_runs(results, ids)]


@accept_old_keywords(home="store")
def old_results(
    query: Query = Query(),  # noqa: B008 (frozen)
    keep: Annotated[int, Flag("Keep the newest N of each series.", min=0)] = 0,
    store: StoreUrl = None,
) -> list[StoredFiles]:
    """Old results of a query: all but the newest `keep` of each series, and but labelled ones,
    unless the query asks for that label."""
    keep = as_integer(keep, "keep", 0)
    if not keep and query == Query():
        raise UsageError(
            "prune needs a filter, but got none.",
            hint="Say which: --before 2026-01, --keep 100, --status failed or --label old.",
        )
    with closing(open_store(store)) as results:
        newest: dict[str, int] = {}
        old = []
        for result in sorted(results.results(query), key=lambda r: r.started, reverse=True):
            series = series_of(result).id
            newest[series] = newest.get(series, 0) + 1
            if newest[series] > keep and (not result.label or query.label):
                old.append(_weigh(results, result))
        return old[::-1]


@accept_old_keywords(home="store")
def remove(ids: Sequence[str], store: StoreUrl = None) -> list[str]:
    """Remove runs or results with their files; returns the removed ids."""
    with closing(open_store(store)) as results:
        selected = {result.id for result in _find_runs(results, ids)} | {
            result_id for text in ids for result_id in results.find(text)
        }
        runs = sorted({result_id.partition("/")[0] for result_id in selected})
        removed: list[str] = []
        if isinstance(results, PackingStore):
            complete = [run for run in runs if set(results.find(run)) <= selected]
            removed = results.unpack(runs, complete)
        for run in sorted(
            set(runs).difference(result_id.partition("/")[0] for result_id in removed)
        ):
            with lock_run(results, run):  # nobody measures it now
                removed += _remove_run(results, run, selected)
        return sorted(removed)


@accept_old_keywords(home="store")
def pack(
    before: Annotated[str, Flag("Only runs older than this day.", "DATE", required=True)],
    store: StoreUrl = None,
) -> PackReport:
    """Pack runs that were measured before a date into a few files, which are read like folders;
    a run that is changed later is unpacked.

    >>> assay.pack("2026-06").runs
    """
    if not DATE.fullmatch(before):
        raise UsageError(
            f"'{before}' is no date.", hint="As in: assay results pack --before 2026-06"
        )
    with closing(open_store(store)) as results:
        if not isinstance(results, PackingStore):
            raise UsageError(
                "This store keeps no run folders that could be packed.",
                hint="Only a store in a plain folder does.",
            )
        runs = results.packable(before)
        sizes = [size for run in runs for size in _sizes(results.folder(run))]
        packs = results.pack(runs) if runs else []
        left = [run for run in runs if (results.home / "runs" / run).is_dir()]
    return PackReport(
        runs=len(runs) - len(left),
        files=len(sizes),
        bytes=sum(sizes),
        packs=tuple(str(path) for path in packs),
        packed_bytes=sum(path.stat().st_size for path in packs),
        left=tuple(left),
    )


@accept_old_keywords(home="store")
def relabel(
    ids: Ids,
    label: Annotated[str, Argument()],
    store: StoreUrl = None,
) -> list[str]:
    """Change the label of results; "" removes it."""
    with closing(open_store(store)) as results:
        named = _find_runs(results, ids)
        for result in named:
            results.amend(result.id, label, result.tags)
        return [result.id for result in named]


@accept_old_keywords(home="store")
def retag(
    ids: Ids,
    tags: Mapping[str, str] | None = None,
    drop: Annotated[Sequence[str], Flag("Tag to remove; repeatable.", "NAME")] = (),
    store: StoreUrl = None,
) -> list[str]:
    """Add tags to results, or change them, and drop others by name."""
    with closing(open_store(store)) as results:
        named, dropped = _find_runs(results, ids), set(drop)
        for result in named:
            changed = {**result.tags, **safe_tags(dict(tags or {}))}
            new_tags = {name: value for name, value in changed.items() if name not in dropped}
            results.amend(result.id, result.label, new_tags)
        return [result.id for result in named]


def _find_runs(store: Store, ids: Sequence[str]) -> list[Result]:
    if not ids:
        raise UsageError("No result was named.", hint="assay list results shows what there is.")
    return list(store.results(Query(ids=ids)))


def _remove_run(store: Store, run: str, selected: set[str]) -> list[str]:
    """Remove results; a run without results is removed with its plan and documents."""
    if set(store.find(run)) <= selected:
        return store.delete(run)
    parts = (result_id for result_id in sorted(selected) if result_id.partition("/")[0] == run)
    return [removed for result_id in parts for removed in store.delete(result_id)]


def _weigh(store: Store, result: Result) -> StoredFiles:
    sizes: list[int] | None = None
    if isinstance(store, SharedStore):
        sizes = store.sizes(result.id)
    elif isinstance(store, PackingStore):
        sizes = store.packed_sizes(result.id)
    if sizes is None:
        sizes = list(_sizes(store.folder(result.run) / result.id.partition("/")[2]))
    return StoredFiles(result=result, files=len(sizes), bytes=sum(sizes))


def _sizes(folder: Path) -> Iterable[int]:
    for directory, _, names in os.walk(folder):
        for name in names:
            file = Path(directory) / name
            if file.is_file():
                yield file.stat().st_size


@runtime_checkable
class PackingStore(Protocol):
    """A store that can pack old runs into a few files."""

    def packable(self, before: str) -> list[str]:
        """Runs that ended, have a folder of their own, and were measured before this date."""

    def pack(self, runs: Sequence[str]) -> list[Path]:
        """Put runs into packs, from which they are read as before; the files that were made."""

    def unpack(self, runs: Sequence[str], whole: Sequence[str]) -> list[str]:
        """Runs out of their packs, each of which is written anew once: those in `whole` for good,
        the others into folders; the ids of the results that are gone."""

    def packed_sizes(self, result_id: str) -> list[int] | None:
        """Bytes of each file of a result in a pack; None where it has a folder of its own."""


class PackReport(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of packing runs."""

    runs: int
    files: int  # before
    bytes: int
    packs: tuple[str, ...]  # files after
    packed_bytes: int
    left: tuple[str, ...] = ()  # runs that are in use, or changed meanwhile
