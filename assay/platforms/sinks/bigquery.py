"""Rows into a table of BigQuery, each once, whatever is cut on the way.

Before rows are sent, those that are there are looked up by their key; so a try after a lost
answer sends only what did not arrive. BigQuery's own insert ids cover the seconds in which a row
that has arrived is not seen by a query yet.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.objects import ServiceAwayError
from assay.core.redaction import without_tokens
from assay.platforms.cloud import google
from assay.platforms.sinks.tables import BigTable, Column, Row

BATCH = 500  # rows of one request, as BigQuery advises
TRIES = 4
TIMEOUT = 30.0  # seconds, for one request
EMULATOR = "BIGQUERY_EMULATOR_HOST"  # the client's own variable
_PLACE = re.compile(r"([a-z0-9][a-z0-9.:-]{0,99}):(\w{1,1024})\.([\w-]{1,1024})", re.ASCII)
Pause = Callable[[float], None]


class TablePlace(NamedTuple):
    """Where a table is."""

    project: str
    dataset: str
    table: str

    def __str__(self) -> str:
        return f"{self.project}:{self.dataset}.{self.table}"


class Delivered(NamedTuple):
    """Rows or files that were sent now, and rows that were there before."""

    sent: int
    known: int = 0


def parse(text: str) -> TablePlace:
    """`project:dataset.table`; letters that could be anything else in SQL are refused."""
    match = _PLACE.fullmatch(text)
    if not match:
        raise UsageError(
            f"'{without_tokens(text)[:80]}' is no table of BigQuery.",
            hint="As in: my-project:benchmarks.results",
        )
    return TablePlace(*match.groups())


def deliver(
    place: TablePlace, table: BigTable, rows: Sequence[Row], pause: Pause | None = None
) -> Delivered:
    """Every row is there when this returns, and once. Raises ServiceAwayError after some tries."""
    client, trouble = _client(place.project), ""
    transient = _transient()
    sent = 0
    for attempt in range(TRIES):
        if attempt:
            (pause or time.sleep)(2.0 ** (attempt - 1))
        try:
            _make(client, place, table)
            fresh = _fresh(client, place, table, rows)
            for begin in range(0, len(fresh), BATCH):
                batch = fresh[begin : begin + BATCH]
                _insert(client, place, table, batch)
                sent += len(batch)
            return Delivered(sent, len(rows) - sent)
        except transient as error:
            trouble = " ".join(str(error).split())[:200] or type(error).__name__
        except _refusals() as error:
            raise _refused(place, error) from None
    raise ServiceAwayError(
        f"BigQuery was not reached in {TRIES} tries: {without_tokens(trouble)}.",
        hint="What was to be sent is kept: assay upload --pending",
    )


def _client(project: str) -> Any:
    try:
        from google.cloud import bigquery
    except ImportError:
        raise google.missing("google-cloud-bigquery", "bigquery") from None
    emulated = bool(os.environ.get(EMULATOR))
    return google.client(bigquery.Client, emulated, project=project)


def _make(client: Any, place: TablePlace, table: BigTable) -> None:
    """The table if it is not there; if it is, it has to have the columns."""
    from google.api_core.exceptions import NotFound
    from google.cloud import bigquery

    reference = bigquery.DatasetReference(place.project, place.dataset).table(place.table)
    try:
        found = client.get_table(reference, retry=None, timeout=TIMEOUT)
    except NotFound:
        client.create_dataset(reference.dataset_id, exists_ok=True, retry=None, timeout=TIMEOUT)
        wanted = bigquery.Table(reference, schema=[_field(column) for column in table.columns])
        client.create_table(wanted, exists_ok=True, retry=None, timeout=TIMEOUT)
        return
    there = {field.name.lower() for field in found.schema}
    lacking = [column.name for column in table.columns if column.name.lower() not in there]
    if lacking:
        raise UsageError(
            f"{place} is another table: it has no column {', '.join(lacking)}.",
            hint="Name a table that is not there yet, or say --table perfzero.",
        )


def _field(column: Column) -> Any:
    from google.cloud import bigquery

    fields = [_field(inner) for inner in column.fields]
    return bigquery.SchemaField(column.name, column.type, mode=column.mode, fields=fields)


def _fresh(client: Any, place: TablePlace, table: BigTable, rows: Sequence[Row]) -> list[Row]:
    """Those whose key the table does not have."""
    from google.cloud import bigquery

    kind = {"INTEGER": "INT64"}.get(table.key_type, table.key_type)
    there: set[Any] = set()
    sql = (
        f"SELECT {table.key} FROM `{place.project}.{place.dataset}.{place.table}` "
        f"WHERE {table.key} IN UNNEST(@keys)"
    )
    for begin in range(0, len(rows), BATCH):
        keys = [row[table.key] for row in rows[begin : begin + BATCH]]
        given = bigquery.QueryJobConfig(
            query_parameters=[bigquery.ArrayQueryParameter("keys", kind, keys)]
        )
        job = client.query(sql, given, retry=None, job_retry=None, timeout=TIMEOUT)
        there |= {found[0] for found in job.result(retry=None, job_retry=None, timeout=TIMEOUT)}
    return [row for row in rows if row[table.key] not in there]


def _insert(client: Any, place: TablePlace, table: BigTable, batch: Sequence[Row]) -> None:
    """The client's own retry is off: it would send again without looking first."""
    problems = client.insert_rows_json(
        f"{place.project}.{place.dataset}.{place.table}",
        list(batch),
        row_ids=[str(row[table.key]) for row in batch],
        retry=None,
        timeout=TIMEOUT,
    )
    if problems:
        why = next((one.get("message", "") for p in problems for one in p.get("errors", ())), "")
        raise AssayError(
            f"{place} refused {len(problems)} of {len(batch)} rows: {without_tokens(why)[:200]}",
            hint="Compare the columns of the table; --table says which rows are made.",
        )


def _transient() -> tuple[type[Exception], ...]:
    from google.api_core import exceptions
    from google.auth.exceptions import TransportError
    from requests.exceptions import ConnectionError as Cut
    from requests.exceptions import RequestException

    known = (exceptions.ServerError, exceptions.TooManyRequests, exceptions.RetryError)
    return (*known, TransportError, Cut, RequestException, ConnectionError, TimeoutError)


def _refusals() -> tuple[type[Exception], ...]:
    from google.api_core.exceptions import ClientError
    from google.auth.exceptions import GoogleAuthError

    return (ClientError, GoogleAuthError)


def _refused(place: TablePlace, error: Exception) -> AssayError:
    code = getattr(error, "code", 0)
    if code in (401, 403):
        return NotPossibleError(
            f"You have no permission for {place}: {google.line(error)}",
            hint="The roles BigQuery Data Editor and BigQuery Job User are needed.",
        )
    return AssayError(
        f"{place} was refused: {google.line(error)}", hint="See project, dataset, table."
    )
