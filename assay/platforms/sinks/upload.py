"""Upload stored results exactly once: tables of BigQuery, objects, metrics."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec

from assay.core import objects, outbox, settings
from assay.core.contracts import SendingStore
from assay.core.errors import AssayError, UsageError
from assay.core.files import user_path
from assay.core.options import Flag, StoreUrl, accept_old_keywords
from assay.core.outbox import PendingEntry
from assay.core.progress import ignore
from assay.core.records import Query
from assay.core.registry import open_store
from assay.core.settings import Home
from assay.platforms.sinks import bigquery, credentials, metrics, tables
from assay.platforms.sinks.bigquery import DeliveryCount
from assay.platforms.sinks.records import Sinks, Upload, Uploads
from assay.stats import stored_summary


@accept_old_keywords(home="store")
def upload(
    *ids: str,
    bigquery: Annotated[str, Flag("Table for the rows.", "PROJECT:DATASET.TABLE")] = "",
    table: Annotated[
        str,
        Flag("Columns of the table, which is made if it is not there.", "|".join(tables.TABLES)),
    ] = "assay",
    objects: Annotated[str, Flag("gs://…, s3://… or a folder for the files.", "PLACE")] = "",
    metrics: Annotated[str, Flag("JSON lines in CloudWatch's embedded format.", "FILE")] = "",
    key: Annotated[
        str,
        Flag("Key file of Google Cloud; default: as its libraries find credentials.", "FILE"),
    ] = "",
    sinks: Sinks = Sinks(),  # noqa: B008 (frozen)
    pending: Annotated[bool, Flag("Send what could not be sent before.")] = False,
    list_pending: Annotated[bool, Flag("List what could not be sent, and why.")] = False,
    forget: Annotated[str, Flag("Remove a pending upload without sending it.", "ID")] = "",
    store: StoreUrl = None,
    progress: Callable[[str], None] = ignore,
) -> Uploads:
    """Send stored results to the `sinks`, which can also be given by their fields.

    Uploads are written to the outbox first and kept there until they are complete; `pending` sends
    those that failed earlier, and results that a store has not received. `list_pending` only lists
    them, `forget` removes one. Existing rows and objects are not sent again.

    >>> sent = assay.upload("last", bigquery="my-project:benchmarks.results")
    >>> print(sent.status, [upload.text for upload in sent.uploads])
    """
    parts = Sinks(bigquery=bigquery, table=table, objects=objects, metrics=metrics, key=key)
    chosen = _merge_sinks(sinks, parts)
    check_sinks(chosen)
    if bool(ids) + pending + list_pending + bool(forget) != 1:
        raise UsageError(
            "Runs, --pending, --list-pending and --forget: exactly one of them is needed.",
            hint="assay upload last --bigquery project:dataset.table, or assay upload --pending",
        )
    if list_pending:
        return Uploads(uploads=tuple(_listed(entry) for entry in outbox.entries(store)))
    if forget:
        return Uploads(uploads=(_report_forgotten(outbox.forget(forget, store)),))
    if pending:
        return _send_all(chosen.key, store, progress)
    if not (chosen.bigquery or chosen.objects or chosen.metrics):
        raise UsageError(
            "No place was given to upload to.", hint="--bigquery, --objects or --metrics"
        )
    return _send_new(list(_make_uploads(ids, chosen, store)), chosen.key, store, progress)


def check_sinks(sinks: Sinks) -> None:
    """Check sinks before anything is measured or sent."""
    if sinks.bigquery:
        bigquery.parse(sinks.bigquery)
    tables.get(sinks.table)
    if sinks.objects:
        objects.check_place(sinks.objects)


def sinks_from_settings(home: Home = None) -> Sinks | None:
    """Sinks in `sinks.toml` of the home folder, for every run."""
    path = settings.home(home) / settings.SINKS
    if not path.is_file():
        return None
    try:
        sinks = msgspec.toml.decode(path.read_bytes(), type=Sinks)
    except (msgspec.DecodeError, ValueError) as error:
        raise UsageError(
            f"{path} cannot be read: {error}.",
            hint="It has lines such as bigquery = 'project:dataset.table'.",
        ) from None
    check_sinks(sinks)
    return sinks


def after_run(run: str, home: Home = None) -> Uploads | None:
    """Upload a finished run to the sinks of the settings."""
    sinks = sinks_from_settings(home)
    return upload(run, sinks=sinks, store=home) if sinks else None


def send_summary(summary: dict[str, object], folder: Path, sinks: Sinks, home: Home) -> Uploads:
    """Send a summary of PerfZero to its table, and the folder of files to `sinks.objects`."""
    entries = []
    if sinks.bigquery:
        row = tables.perfzero_row(summary)
        entries.append(_entry("bigquery", sinks.bigquery, table="perfzero", rows=[row]))
    if sinks.objects:
        place = f"{objects.check_place(sinks.objects)}/{folder.name}"
        entries.append(_entry("objects", place, folder=str(folder)))
    return _send_new(entries, "", home, ignore)  # the caller has the key for its whole run


def _merge_sinks(sinks: Sinks, parts: Sinks) -> Sinks:
    """`sinks` with the fields of `parts` that are not defaults."""
    defaults, values = msgspec.structs.asdict(Sinks()), msgspec.structs.asdict(parts)
    return msgspec.structs.replace(
        sinks, **{name: text for name, text in values.items() if text != defaults[name]}
    )


def _make_uploads(ids: Sequence[str], sinks: Sinks, home: Home) -> Iterator[PendingEntry]:
    with closing(open_store(home)) as store:
        results = [r for r in store.results(Query(ids=ids)) if r.status != "interrupted"]
        readings = [stored_summary.read(store, result) for result in results]
        result_folders = [
            store.folder(result.id) for result in results if sinks.objects
        ]  # downloaded or unpacked
    if not readings:
        raise UsageError(
            f"{' '.join(ids)} has no result to upload.",
            hint="assay list results shows all results.",
        )
    if sinks.bigquery:
        rows = [tables.get(sinks.table).row(reading) for reading in readings]
        yield _entry("bigquery", sinks.bigquery, table=sinks.table, rows=rows)
    if sinks.metrics:
        place = str(user_path(sinks.metrics).absolute())
        yield _entry("metrics", place, rows=[metrics.line(reading) for reading in readings])
    if sinks.objects:
        place = objects.check_place(sinks.objects)
        for result, folder in zip(results, result_folders, strict=True):
            yield _entry("objects", f"{place}/{result.id}", folder=str(folder))


def _entry(
    sink: Any, place: str, table: str = "", rows: Any = (), folder: str = ""
) -> PendingEntry:
    key = tables.get(table).key if table else "id"
    keys = [str(row.get(key, "")) for row in rows]
    entry_id = outbox.make_id(sink, place, table, keys, folder)
    return PendingEntry(
        sink=sink, place=place, table=table, rows=list(rows), folder=folder, id=entry_id
    )


def _send_new(
    new: Sequence[PendingEntry], key_url: str, home: Home, progress: Callable[[str], None]
) -> Uploads:
    """Send these and all earlier uploads; failures do not stop the others."""
    outbox.enqueue(new, home)
    return _send(key_url, home, progress, {entry.id for entry in new})


def _send_all(key_url: str, home: Home, progress: Callable[[str], None]) -> Uploads:
    """Send everything that is pending: results to their stores, then uploads."""
    to_stores = _send_to_stores(home, progress)
    uploads = _send(key_url, home, progress).uploads
    return Uploads(uploads=(*to_stores, *uploads))


def _send(
    key_url: str, home: Home, progress: Callable[[str], None], new: set[str] | None = None
) -> Uploads:
    uploads = []
    with credentials.use_key(key_url), outbox.only_sender(home), _quiet_libraries():
        for entry in outbox.entries(home):
            if entry.sink != "store":
                progress(f"{entry.sink} {entry.place} …")
                sent = _send_one(entry, home)
                earlier = new is not None and entry.id not in new
                uploads.append(msgspec.structs.replace(sent, id=entry.id[:8], earlier=earlier))
    return Uploads(uploads=tuple(uploads))


@contextmanager
def _quiet_libraries() -> Iterator[None]:
    """Cloud libraries log a traceback for each failed request, although they raise it too."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def _send_one(entry: PendingEntry, home: Home) -> Upload:
    if entry.sink == "unreadable":
        return _failed(entry, entry.reason)
    try:
        sent, known = deliver(entry)
    except AssayError as error:
        if entry.expired:
            outbox.remove(entry, home)
            age = f"It expired after {outbox.EXPIRY_DAYS} days and is no longer pending."
            return _failed(entry, f"{error} {age}")
        outbox.note_failure(entry, str(error), home)
        return _failed(entry, f"{error} It is kept to be sent later.")
    outbox.remove(entry, home)
    what = "file" if entry.sink == "objects" else "row"
    text = f"{sent} {what}{'' if sent == 1 else 's'} sent"
    if known:
        text += f", {known} {'was' if known == 1 else 'were'} there already"
    return Upload(
        sink=entry.sink, place=entry.place, arrived=True, sent=sent, known=known, text=text
    )


def _failed(entry: PendingEntry, text: str) -> Upload:
    line = " ".join(text.split())
    return Upload(sink=entry.sink, place=entry.place, arrived=False, text=line, id=entry.id[:8])


def _listed(entry: PendingEntry) -> Upload:
    since = datetime.fromtimestamp(entry.since).strftime("%Y-%m-%d %H:%M")
    what = f"{entry.folder}, " if entry.sink == "store" else ""
    listed = _failed(entry, f"{what}pending since {since}. {entry.reason}")
    return msgspec.structs.replace(listed, earlier=True)


def _report_forgotten(entry: PendingEntry) -> Upload:
    place = f"; the result stays in {entry.folder}" if entry.sink == "store" else ""
    report = _failed(entry, f"forgotten{place}")
    return msgspec.structs.replace(report, earlier=True)


def _send_to_stores(home: Home, progress: Callable[[str], None]) -> list[Upload]:
    """Send results to the stores that have not received them. Opening such a store sends them."""
    waiting = [entry for entry in outbox.entries(home) if entry.sink == "store"]
    problems = {}
    for place in dict.fromkeys(entry.place for entry in waiting):
        progress(f"store {place} …")
        folder = next(entry.folder for entry in waiting if entry.place == place)
        own = Path(folder).is_relative_to(settings.runs(home))  # its URL may have a password
        try:
            with closing(open_store(home if own else place)) as store:
                if isinstance(store, SendingStore):
                    store.send_pending(rejected=True)
        except AssayError as error:
            problems[place] = str(error)
    left = {entry.id: entry for entry in outbox.entries(home)}
    return [
        _failed(left[entry.id], left[entry.id].reason or problems.get(entry.place, "not sent"))
        if entry.id in left
        else Upload(
            sink="store", place=entry.place, arrived=True, sent=1, text=f"{entry.folder} sent"
        )
        for entry in waiting
    ]


def deliver(entry: PendingEntry) -> DeliveryCount:
    """Send an upload. Raises AssayError if it fails; it stays in the outbox."""
    if entry.sink == "bigquery":
        return bigquery.deliver(bigquery.parse(entry.place), tables.get(entry.table), entry.rows)
    if entry.sink == "metrics":
        return metrics.append(Path(entry.place), entry.rows)
    return DeliveryCount(objects.put_folder(Path(entry.folder), entry.place))
