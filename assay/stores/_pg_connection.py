"""Connection to a PostgreSQL server, with reconnection.

A password in the URL is passed only to the server; it never appears in messages, folder names or
records.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import unquote

from assay.core.errors import AssayError, NotPossibleError, StoreError, UsageError
from assay.core.redaction import safe_message
from assay.stores import _pg_tables as tables

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")
LIKE = "postgresql://USER@HOST:5432/DATABASE"
_PAUSES = (0.0, 0.1, 0.5, 2.0, 5.0)  # seconds before each attempt to connect again
# Transient errors: lost connection, deadlock, restart (class 08, 40, 57P).
_TRANSIENT = re.compile(r"08|40001|40P01|57P")
# Errors of the data or of a limit: the same statement fails again (class 22, 23, 54).
_REJECTED = re.compile(r"22|23|54")
_SECRET_PARAMETERS = ("password", "sslpassword", "oauth_client_secret")


class RejectedError(StoreError):
    """The server will not accept this data at a later attempt either."""


class Address(NamedTuple):
    """Location of a database; `shown` is for messages, without password."""

    settings: Mapping[str, Any]  # for libpq
    files: str  # URL of an object store for logs and traces; "": the database
    shown: str


def address(place: str) -> Address:
    """Parse the part after `postgresql://` like libpq; `files=URL` is assay's."""
    psycopg = _psycopg()
    base, _, query = place.partition("?")
    words = [word for word in query.split("&") if word]
    files = next((word[6:] for word in words if word.startswith("files=")), "")
    rest = "&".join(word for word in words if not word.startswith("files="))
    try:
        url = f"postgresql://{base}" + (f"?{rest}" if rest else "")
        settings = psycopg.conninfo.conninfo_to_dict(url)
        int(settings.get("port") or 5432)
    except (psycopg.Error, ValueError):  # its message may contain parts of the password
        raise UsageError(
            f"The part after postgresql:// ('{_without_secrets(base)}') is not the location of a "
            "database.",
            hint=f"As in {LIKE}; write characters such as @ or / in a password as %40 or %2F.",
        ) from None
    host, port = str(settings.get("host", "")), str(settings.get("port", ""))
    database = str(settings.get("dbname", ""))
    shown = f"postgresql://{host}{':' + port if port else ''}/{database}"
    return Address(settings, files, shown)


def without_password(place: str) -> str:
    """The URL of `place`, the part after `postgresql://`, without its password."""
    base, _, query = place.partition("?")
    user, at, host = base.rpartition("@")
    words = [
        safe_message(word)
        for word in query.split("&")
        if word and unquote(word).partition("=")[0] not in _SECRET_PARAMETERS
    ]
    url = f"postgresql://{user.partition(':')[0]}{at}{host}"
    return url + ("?" + "&".join(words) if words else "")


def _without_secrets(base: str) -> str:
    return base.rpartition("@")[2]


class ServerLink:
    """A connection that is reopened after errors. `change` may retry its idempotent transaction."""

    def __init__(self, where: Address) -> None:
        self.where = where
        self._psycopg = _psycopg()
        self._held: set[str] = set()  # names that are locked
        self._connection = self._connect()
        self._explain_errors(lambda: tables.migrate(self._connection))

    def ask(self, action: Callable[[psycopg.Connection[Any]], T]) -> T:
        return self._retry(lambda: action(self._connection))

    def change(self, action: Callable[[psycopg.Connection[Any]], T]) -> T:
        def whole() -> T:
            with self._connection.transaction():
                return action(self._connection)

        return self._retry(whole)

    def take_lock(self, name: str) -> bool:
        """Take a lock that ends with this process; False: another process has it."""
        mine = self.ask(lambda connection: _try_lock(connection, name))
        self._held |= {name} if mine else set()
        return mine

    def release_lock(self, name: str) -> None:
        """A broken connection has released it already; an error would hide why it broke."""
        self._held.discard(name)
        statement = "SELECT pg_advisory_unlock(hashtextextended(%s, 0))"
        with suppress(self._psycopg.Error):
            self._connection.execute(statement, (name,))

    def close(self) -> None:
        self._connection.close()

    def _retry(self, action: Callable[[], T]) -> T:
        for pause in _PAUSES:
            try:
                return action()
            except (self._psycopg.OperationalError, self._psycopg.InterfaceError) as error:
                if not (self._connection.closed or _TRANSIENT.match(error.sqlstate or "")):
                    raise self._problem(error) from None
                self._reconnect(pause)
            except self._psycopg.Error as error:
                raise self._problem(error) from None
        return self._explain_errors(action)

    def _reconnect(self, pause: float) -> None:
        """Reconnect after a pause if the connection is closed."""
        time.sleep(pause)
        if not self._connection.closed:
            return
        try:
            self._connection = self._connect()
        except StoreError:
            if pause == _PAUSES[-1]:
                raise

    def _explain_errors(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except self._psycopg.Error as error:
            raise self._problem(error) from None

    def _connect(self) -> psycopg.Connection[Any]:
        options = {"connect_timeout": 10, "application_name": "assay", **self.where.settings}
        try:
            connection: psycopg.Connection[Any] = self._psycopg.connect(
                **options, autocommit=True, row_factory=self._psycopg.rows.dict_row
            )
            connection.execute(f"SET search_path TO {tables.SCHEMA}")
            lost = [name for name in self._held if not _try_lock(connection, name)]
        except self._psycopg.Error as error:
            raise self._problem(error) from None
        if lost:
            raise StoreError(
                f"The connection to {self.where.shown} broke, and another assay took {lost[0]}.",
                hint="Measured results are stored; this process must end.",
            )
        return connection

    def _problem(self, error: psycopg.Error) -> AssayError:
        """The server's message, without the password."""
        words = " ".join(str(error).split()) or type(error).__name__
        password = str(self.where.settings.get("password") or "")
        words = words.replace(password, "…") if password else words
        denied = isinstance(error, self._psycopg.errors.InsufficientPrivilege)
        hint = (
            f"Ask its owner: GRANT CREATE ON DATABASE to make the tables, then rights on schema "
            f"{tables.SCHEMA}; to read only, USAGE and SELECT."
            if denied
            else f"Is the server running, and the URL right? {LIKE}; store the password in "
            "~/.pgpass or PGPASSWORD."
        )
        kind = RejectedError if _REJECTED.match(error.sqlstate or "") else StoreError
        return kind(f"The store {self.where.shown} cannot be used ({words}).", hint=hint)


def _try_lock(connection: psycopg.Connection[Any], name: str) -> bool:
    statement = "SELECT pg_try_advisory_lock(hashtextextended(%s, 0)) AS mine"
    row = connection.execute(statement, (name,)).fetchone()
    return bool(row and row["mine"])


def _psycopg() -> Any:
    try:
        import psycopg
        import psycopg.conninfo
        import psycopg.rows
    except ImportError as error:
        raise NotPossibleError(
            f"A store in PostgreSQL needs psycopg ({error}).",
            hint="pip install 'assay-lab[postgresql]'",
        ) from None
    return psycopg
