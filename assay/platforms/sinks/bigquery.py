"""Insert rows into a table of BigQuery exactly once.

Existing rows are looked up by key before rows are sent, so a retry sends only missing rows.
BigQuery's insert ids cover the seconds until new rows are visible in queries.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from assay.core.errors import AssayError, NotPossibleError, UsageError
from assay.core.objects import ServiceUnavailableError
from assay.core.redaction import safe_message
from assay.platforms.cloud import google
from assay.platforms.sinks.tables import BigTable, Column, Row

BATCH = 500  # rows per request, as BigQuery recommends
TRIES = 4
TIMEOUT = 30.0  # seconds, for one request
EMULATOR = "BIGQUERY_EMULATOR_HOST"  # the client's own variable
_PLACE = re.compile(r"([a-z0-9][a-z0-9.:-]{0,99}):(\w{1,1024})\.([\w-]{1,1024})", re.ASCII)
Pause = Callable[[float], None]


class TablePlace(NamedTuple):
    """Location of a table."""

    project: str
    dataset: str
    table: str

    def __str__(self) -> str:
        return f"{self.project}:{self.dataset}.{self.table}"


class DeliveryCount(NamedTuple):
    """Number of rows or files sent, and of existing rows."""

    sent: int
    known: int = 0


def parse(text: str) -> TablePlace:
    """Parse `project:dataset.table`; characters with a meaning in SQL are errors."""
    match = _PLACE.fullmatch(text)
    if not match:
        raise UsageError(
            f"'{safe_message(text)[:80]}' is not a table of BigQuery.",
            hint="As in: my-project:benchmarks.results",
        )
    return TablePlace(*match.groups())


def deliver(
    target: TablePlace, table: BigTable, rows: Sequence[Row], pause: Pause | None = None
) -> DeliveryCount:
    """Insert every row exactly once. Raises ServiceAwayError after several attempts."""
    client, trouble = _client(target.project), ""
    transient = _transient()
    sent = 0
    for attempt in range(TRIES):
        if attempt:
            (pause or time.sleep)(2.0 ** (attempt - 1))
        try:
            _make(client, target, table)
            fresh = _new_rows(client, target, table, rows)
            for begin in range(0, len(fresh), BATCH):
                batch = fresh[begin : begin + BATCH]
                _insert(client, target, table, batch)
                sent += len(batch)
            return DeliveryCount(sent, len(rows) - sent)
        except transient as error:
            trouble = " ".join(str(error).split())[:200] or type(error).__name__
        except _client_errors() as error:
            raise _refusal_error(target, error) from None
    raise ServiceUnavailableError(
        f"BigQuery was not reached in {TRIES} tries: {safe_message(trouble)}.",
        hint="Rows are kept for later: assay upload --pending",
    )


def _client(project: str) -> Any:
    try:
        from google.cloud import bigquery
    except ImportError:
        raise google.missing_reason("google-cloud-bigquery", "bigquery") from None
    emulated = bool(os.environ.get(EMULATOR))
    return google.client(bigquery.Client, emulated, project=project)


def _make(client: Any, target: TablePlace, table: BigTable) -> None:
    """Create a missing table; check the columns of an existing one."""
    from google.api_core.exceptions import NotFound
    from google.cloud import bigquery

    reference = bigquery.DatasetReference(target.project, target.dataset).table(target.table)
    try:
        existing = client.get_table(reference, retry=None, timeout=TIMEOUT)
    except NotFound:
        client.create_dataset(reference.dataset_id, exists_ok=True, retry=None, timeout=TIMEOUT)
        new_table = bigquery.Table(reference, schema=[_field(column) for column in table.columns])
        client.create_table(new_table, exists_ok=True, retry=None, timeout=TIMEOUT)
        return
    columns = {field.name.lower() for field in existing.schema}
    missing = [column.name for column in table.columns if column.name.lower() not in columns]
    if missing:
        raise UsageError(
            f"{target} has no column {', '.join(missing)}.",
            hint="Name a new table, or use --table perfzero.",
        )


def _field(column: Column) -> Any:
    from google.cloud import bigquery

    fields = [_field(inner) for inner in column.fields]
    return bigquery.SchemaField(column.name, column.type, mode=column.mode, fields=fields)


def _new_rows(client: Any, target: TablePlace, table: BigTable, rows: Sequence[Row]) -> list[Row]:
    """Rows whose key is not in the table."""
    from google.cloud import bigquery

    kind = {"INTEGER": "INT64"}.get(table.key_type, table.key_type)
    existing: set[Any] = set()
    sql = (
        f"SELECT {table.key} FROM `{target.project}.{target.dataset}.{target.table}` "
        f"WHERE {table.key} IN UNNEST(@keys)"
    )
    for begin in range(0, len(rows), BATCH):
        keys = [row[table.key] for row in rows[begin : begin + BATCH]]
        config = bigquery.QueryJobConfig(
            query_parameters=[bigquery.ArrayQueryParameter("keys", kind, keys)]
        )
        job = client.query(sql, config, retry=None, job_retry=None, timeout=TIMEOUT)
        existing |= {
            found_row[0] for found_row in job.result(retry=None, job_retry=None, timeout=TIMEOUT)
        }
    return [row for row in rows if row[table.key] not in existing]


def _insert(client: Any, target: TablePlace, table: BigTable, batch: Sequence[Row]) -> None:
    """Insert without the client's retry, which would not look up existing rows."""
    problems = client.insert_rows_json(
        f"{target.project}.{target.dataset}.{target.table}",
        list(batch),
        row_ids=[str(row[table.key]) for row in batch],
        retry=None,
        timeout=TIMEOUT,
    )
    if problems:
        why = next(
            (detail.get("message", "") for p in problems for detail in p.get("errors", ())), ""
        )
        raise AssayError(
            f"{target} refused {len(problems)} of {len(batch)} rows: {safe_message(why)[:200]}",
            hint="Compare the columns of the table; --table selects the kind of rows.",
        )


def _transient() -> tuple[type[Exception], ...]:
    from google.api_core import exceptions
    from google.auth.exceptions import TransportError
    from requests.exceptions import ConnectionError as Cut
    from requests.exceptions import RequestException

    known = (exceptions.ServerError, exceptions.TooManyRequests, exceptions.RetryError)
    return (*known, TransportError, Cut, RequestException, ConnectionError, TimeoutError)


def _client_errors() -> tuple[type[Exception], ...]:
    from google.api_core.exceptions import ClientError
    from google.auth.exceptions import GoogleAuthError

    return (ClientError, GoogleAuthError)


def _refusal_error(target: TablePlace, error: Exception) -> AssayError:
    code = getattr(error, "code", 0)
    if code in (401, 403):
        return NotPossibleError(
            f"You have no permission for {target}: {google.line(error)}",
            hint="The roles BigQuery Data Editor and BigQuery Job User are needed.",
        )
    return AssayError(
        f"{target} was refused: {google.line(error)}", hint="Check project, dataset, table."
    )
