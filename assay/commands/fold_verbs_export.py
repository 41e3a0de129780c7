"""Kept results as files that other tools read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from assay.core.contracts import Store
from assay.core.errors import UsageError
from assay.core.files import user_file
from assay.core.findings import Reading
from assay.core.formats import Format
from assay.core.progress import ignore
from assay.core.records import Query
from assay.core.registry import everything, file_format, open_store
from assay.core.settings import Home
from assay.stats import stored_summary

BINARY = (".parquet",)  # suffixes of files that no terminal can show


def export(
    *ids: str,
    kind: str,
    output: str | Path = "",
    query: Query = Query(),  # noqa: B008 (frozen)
    home: Home = None,
    progress: Callable[[int, int], None] = ignore,
) -> bytes:
    """Results in the format of another tool: what the file holds, written to `output` if given.

    Without ids, all that the query finds: the whole store, if it restricts nothing. `progress` is
    called with how many of how many were read.
    """
    form = file_format(kind)
    write = form.write
    if write is None:
        known = [name for name, one in everything("formats")[0].items() if one.write]
        raise UsageError(f"Files of {kind} are only read here.", hint=f"Known: {', '.join(known)}.")
    with closing(open_store(home)) as store:
        data = write(_readings(store, Query(ids=ids) if ids else query, progress))
    if output:
        with user_file(output) as temporary:
            temporary.write_bytes(data)
    return data


def is_binary(form: Format) -> bool:
    return form.suffix in BINARY


def _readings(
    store: Store, query: Query, progress: Callable[[int, int], None]
) -> Iterator[Reading]:
    """One after the other: a whole store need not fit into memory."""
    found, count = False, store.count(query)
    for number, result in enumerate(store.results(query)):
        progress(number, count)
        if result.status != "interrupted":
            found = True
            yield stored_summary.read(store, result)
    progress(count, count)
    if not found:
        raise UsageError(
            f"{' '.join(query.ids) or 'The query'} has no result to export.",
            hint="assay list results shows what there is.",
        )
