"""Runs of a PostgreSQL store by name, and their results as documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from assay.core import codec
from assay.core.errors import StoreError
from assay.core.records import Result
from assay.stores import fold_stores_naming, folders

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

KNOWN = 1_000  # newest runs that a misspelt name is compared with
_GONE = (
    "DELETE FROM points WHERE result IN (SELECT number FROM results WHERE id = ANY(%s))",
    "DELETE FROM results WHERE id = ANY(%s)",
    "DELETE FROM summaries WHERE id = ANY(%s)",
)


def add(connection: Connection, run: str) -> None:
    stamp = run[: len("20261115-101500")] if folders.STAMPED.match(run) else ""
    connection.execute(
        "INSERT INTO runs (name, stamp) VALUES (%s, %s) ON CONFLICT DO NOTHING", (run, stamp)
    )


def named(connection: Connection, text: str) -> str:
    """By its name, a unique beginning or ending, or `last`: the newest by its stamp."""

    def names(rest: str, *values: object) -> list[str]:
        rows = connection.execute(f"SELECT name FROM runs {rest}", values).fetchall()
        return [row["name"] for row in rows]

    if text == "last" and (last := names("ORDER BY stamp DESC, made DESC, name DESC LIMIT 1")):
        return last[0]
    if exact := names("WHERE name = %s", text):
        return exact[0]
    near = names(
        "WHERE %s <> '' AND (starts_with(name, %s) OR starts_with(reverse(name), reverse(%s))) "
        "ORDER BY name LIMIT 100",
        *(text, text, text),
    )
    return fold_stores_naming.only_run(text, near, names(f"ORDER BY stamp DESC LIMIT {KNOWN}"))


def forget(connection: Connection, ids: Sequence[str], run: str) -> None:
    """Take results out of the index, and the run itself unless it is ""."""
    for statement in _GONE:
        connection.execute(statement, (list(ids),))
    connection.execute("DELETE FROM runs WHERE name = %s", (run,))


def decoded(result_id: str, data: bytes | None, amended: bytes | None) -> Result:
    """A result from its document, with the label and tags that it was given later."""
    origin = f"{result_id}/result.json"
    if data is None:
        raise StoreError(f"{origin} is not in the store.", hint="Delete the result to hide it.")
    found = codec.decode(data, Result, origin)
    if found.id != result_id:
        raise StoreError(
            f"{origin} has the id {found.id[:60]!r}, but an id is {result_id} there.",
            hint="It is damaged or was made to harm: delete it.",
        )
    if amended is None:
        return found
    change = codec.decode(amended, folders.Amendment, f"{result_id}/{folders.AMENDED}")
    return msgspec.structs.replace(found, label=change.label, tags=change.tags)
