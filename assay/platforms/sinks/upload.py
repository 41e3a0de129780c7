"""Upload stored results exactly once: tables of BigQuery, objects, metrics."""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from assay.core import codec, objects, settings
from assay.core.corrupt import explain_write_errors
from assay.core.errors import AssayError, StoreError, UsageError
from assay.core.files import modified_time, user_path, write_atomic
from assay.core.options import Flag, StoreUrl, accept_old_keywords
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
    store: StoreUrl = None,
    progress: Callable[[str], None] = ignore,
) -> Uploads:
    """Send stored results to the `sinks`, which can also be given by their fields.

    Uploads are written to disk first and kept until they are complete; `pending` sends those that
    failed earlier. Existing rows and objects are not sent again.

    >>> sent = assay.upload("last", bigquery="my-project:benchmarks.results")
    >>> print(sent.status, [upload.text for upload in sent.uploads])
    """
    parts = Sinks(bigquery=bigquery, table=table, objects=objects, metrics=metrics, key=key)
    chosen = _merge_sinks(sinks, parts)
    check_sinks(chosen)
    if bool(ids) == pending:
        raise UsageError(
            "Both ids and --pending were given." if ids else "No run was given to upload.",
            hint="assay upload last --bigquery project:dataset.table, or assay upload --pending",
        )
    if ids and not (chosen.bigquery or chosen.objects or chosen.metrics):
        raise UsageError(
            "No place was given to upload to.", hint="--bigquery, --objects or --metrics"
        )
    if ids:
        enqueue(list(_make_uploads(ids, chosen, store)), store)
    return _send_pending(chosen.key, store, progress)


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
    parcels = []
    if sinks.bigquery:
        row = tables.perfzero_row(summary)
        parcels.append(
            PendingUpload(sink="bigquery", place=sinks.bigquery, table="perfzero", rows=[row])
        )
    if sinks.objects:
        place = f"{objects.check_place(sinks.objects)}/{folder.name}"
        parcels.append(PendingUpload(sink="objects", place=place, folder=str(folder)))
    enqueue(parcels, home)
    return _send_pending("", home, ignore)  # the caller has the key for its whole run


def _merge_sinks(sinks: Sinks, parts: Sinks) -> Sinks:
    """`sinks` with the fields of `parts` that are not defaults."""
    defaults, values = msgspec.structs.asdict(Sinks()), msgspec.structs.asdict(parts)
    return msgspec.structs.replace(
        sinks, **{name: text for name, text in values.items() if text != defaults[name]}
    )


def _make_uploads(ids: Sequence[str], sinks: Sinks, home: Home) -> Iterator[PendingUpload]:
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
        yield PendingUpload(sink="bigquery", place=sinks.bigquery, table=sinks.table, rows=rows)
    if sinks.metrics:
        place = str(user_path(sinks.metrics).absolute())
        yield PendingUpload(
            sink="metrics", place=place, rows=[metrics.line(reading) for reading in readings]
        )
    if sinks.objects:
        place = objects.check_place(sinks.objects)
        for result, folder in zip(results, result_folders, strict=True):
            yield PendingUpload(sink="objects", place=f"{place}/{result.id}", folder=str(folder))


def _send_pending(key_url: str, home: Home, progress: Callable[[str], None]) -> Uploads:
    """Send all pending uploads; failures do not stop the others."""
    uploads = []
    with credentials.use_key(key_url), only_sender(home):
        for parcel in pending_uploads(home):
            progress(f"{parcel.sink} {parcel.place} …")
            uploads.append(_send_one(parcel, home))
    return Uploads(uploads=tuple(uploads))


def _send_one(parcel: PendingUpload, home: Home) -> Upload:
    try:
        sent, known = deliver(parcel)
    except AssayError as error:
        text = f"{error} It is kept to be sent later."
        return Upload(sink=parcel.sink, place=parcel.place, arrived=False, text=text)
    remove_sent(parcel, home)
    what = "file" if parcel.sink == "objects" else "row"
    text = f"{sent} {what}{'' if sent == 1 else 's'} sent"
    if known:
        text += f", {known} {'was' if known == 1 else 'were'} there already"
    return Upload(
        sink=parcel.sink, place=parcel.place, arrived=True, sent=sent, known=known, text=text
    )


FOLDER = "outbox"  # below the home folder


class PendingUpload(msgspec.Struct, frozen=True, kw_only=True):
    """Rows or a folder for one sink."""

    sink: Literal["bigquery", "objects", "metrics"]
    place: str
    table: str = ""
    rows: list[dict[str, Any]] = []
    folder: str = ""

    @property
    def name(self) -> str:
        """Equal for equal uploads, so that duplicates are stored once."""
        keys = [str(row.get(_key(self), "")) for row in self.rows]
        text = codec.encode([self.sink, self.place, self.table, keys, self.folder])
        return hashlib.sha256(text).hexdigest()[:24]


def enqueue(parcels: Sequence[PendingUpload], home: Home) -> None:
    """Write uploads to the outbox."""
    for parcel in parcels:
        path = _path(parcel, home)
        with explain_write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, codec.encode(parcel))


@contextmanager
def only_sender(home: Home) -> Iterator[None]:
    """Lock the outbox, so that nothing is sent twice."""
    folder = settings.home(home) / FOLDER
    with explain_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def pending_uploads(home: Home) -> Iterator[PendingUpload]:
    """Pending uploads, oldest first."""
    folder = settings.home(home) / FOLDER
    files = folder.glob("[!.]*.json")  # not those being written
    for path in sorted(files, key=modified_time):
        try:
            yield msgspec.json.decode(path.read_bytes(), type=PendingUpload)
        except FileNotFoundError:  # it was sent meanwhile
            continue
        except msgspec.DecodeError:
            raise StoreError(f"{path} is not a pending upload.", hint="Move it away.") from None


def remove_sent(parcel: PendingUpload, home: Home) -> None:
    _path(parcel, home).unlink(missing_ok=True)


def deliver(parcel: PendingUpload) -> DeliveryCount:
    """Send an upload. Raises AssayError if it fails; it stays in the outbox."""
    if parcel.sink == "bigquery":
        return bigquery.deliver(bigquery.parse(parcel.place), tables.get(parcel.table), parcel.rows)
    if parcel.sink == "metrics":
        return metrics.append(Path(parcel.place), parcel.rows)
    return DeliveryCount(objects.put_folder(Path(parcel.folder), parcel.place))


def _key(parcel: PendingUpload) -> str:
    return tables.get(parcel.table).key if parcel.table else "id"


def _path(parcel: PendingUpload, home: Home) -> Path:
    return settings.home(home) / FOLDER / f"{parcel.name}.json"
