"""Results that a PostgreSQL store did not receive: named, listed, and sent by the next command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import assay as lab
from assay.core import outbox
from assay.core.errors import StoreError
from assay.core.records import Query
from assay.core.registry import open_store
from assay.stores import _pg_connection as link
from tests.postgres import PASSWORD, PostgresServer, running
from tests.stores.test_sqlite import result, stored

pytestmark = pytest.mark.real("postgresql", "psycopg")
NOWHERE = {"host": "127.0.0.1", "port": "1"}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(link, "_PAUSES", (0.0, 0.0))


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """A server that these tests may stop."""
    with running() as server:
        yield server


@pytest.fixture
def url(postgres, database) -> str:
    """With a password; `database` empties it."""
    return postgres.with_password


@pytest.fixture
def pending(postgres, url, home) -> str:
    """The id of a result that the store did not receive."""
    with closing(open_store(url)) as store:
        (first,) = stored(store)
        store._link.where = store._link.where._replace(settings=NOWHERE)
        postgres.cut()
        with pytest.raises(StoreError):
            store.append(result(first.run, 2))
    return f"{first.run}/002"


@pytest.mark.parametrize("next_command", ["list", "upload --pending"])
def test_a_result_reaches_a_server_that_was_away_at_its_end(assay, own_server, home, next_command):
    """The server stops while the command is measured, and starts again."""
    store = own_server.with_password
    stopped = own_server.folder / "data" / "postmaster.pid"
    stop = f"kill -INT {own_server.process.pid}; while [ -e {stopped} ]; do sleep 0.1; done"
    before = _count(own_server)

    status, _, err = assay("--store", store, "task", "run", "--", "sh", "-c", f"{stop}; echo n 3")
    (entry,) = outbox.entries(home)
    kept = Path(entry.folder) / "result.json"

    assert status == 4 and kept.is_file()
    assert entry.folder in err and "assay upload --pending" in err
    assert "postmaster" not in err and PASSWORD not in err
    own_server.start_again()
    assert assay("--store", store, *next_command.split())[0] == 0
    assert _count(own_server) == before + 1
    assert list(outbox.entries(home)) == []


def _count(server: PostgresServer) -> int:
    tables = server.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'assay'")
    if tables == [(0,)]:
        return 0
    return int(str(server.execute("SELECT count(*) FROM assay.results")[0][0]))


def test_no_password_is_in_the_outbox(home, pending):
    text = b"".join(path.read_bytes() for path in (home / outbox.FOLDER).glob("*.json"))

    assert pending.encode() in text
    assert PASSWORD.encode() not in text


@pytest.mark.parametrize(
    "place",
    [
        "me:S3cret@host/db?sslmode=require",
        "me@host/db?password=S3cret&sslmode=require",
        "me@host/db?pass%77ord=S3cret&sslmode=require",
        "me@host/db?sslpassword=S3cret&sslmode=require",
    ],
)
def test_a_url_is_written_without_its_password(place):
    assert link.without_password(place) == "postgresql://me@host/db?sslmode=require"


def test_a_result_that_was_received_already_is_stored_once(url, home, pending):
    """As after a crash between sending and removing the entry."""
    (entry,) = outbox.entries(home)
    for _ in range(2):
        with closing(open_store(url)) as store:
            assert store.count(Query()) == 2
            assert [found.id for found in store.results(Query())][-1] == pending
        outbox.enqueue([entry], home)


def test_the_command_of_the_message_sends_without_naming_the_store(
    assay, url, home, pending, monkeypatch
):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)

    status, out, _ = assay("upload", "--pending")

    assert status == 0 and "sent" in out
    with closing(open_store(url)) as store:
        assert store.count(Query()) == 2


def test_what_the_server_rejects_is_listed_and_blocks_no_other(assay, postgres, url, home, pending):
    """A rule of the database rejects one of two results for good."""
    (entry,) = outbox.entries(home)
    with closing(open_store(url)) as store:
        (other,) = stored(store)
    outbox.enqueue([entry], home)
    folder = Path(entry.folder).parents[1] / other.id
    second = outbox.make_id("second")
    outbox.enqueue([_entry_of(folder, second)], home)
    postgres.execute(f"DELETE FROM assay.results WHERE id IN ('{pending}', '{other.id}')")
    postgres.execute(f"ALTER TABLE assay.results ADD CHECK (id <> '{pending}') NOT VALID")

    listed, _, _ = assay("--store", url, "list", "results")
    _, out, _ = assay("--store", url, "upload", "--list-pending", "--format", "json")
    again, _, _ = assay("--store", url, "upload", "--pending")

    assert (listed, again) == (0, 1)
    (shown,) = json.loads(out)["uploads"]
    assert "violates check constraint" in shown["text"] and pending in shown["text"]
    with closing(open_store(url)) as store:
        ids = {found.id for found in store.results(Query())}
        assert other.id in ids and pending not in ids
    assert lab.upload(forget=shown["id"], store=url).status == 0
    assert list(outbox.entries(home)) == []


def _entry_of(folder: Path, entry_id: str) -> outbox.PendingEntry:
    return outbox.PendingEntry(sink="store", place="", folder=str(folder), id=entry_id)


def test_a_document_is_kept_too(postgres, url, home):
    with closing(open_store(url)) as store:
        (made,) = stored(store)
        store._link.where = store._link.where._replace(settings=NOWHERE)
        postgres.cut()
        with pytest.raises(StoreError, match="cannot be used"):
            store.keep_document(made.run, "race.json", b"{}")

    with closing(open_store(url)) as store:
        assert store.document(made.run, "race.json") == b"{}"


def test_an_entry_whose_folder_is_gone_is_reported(url, home):
    with closing(open_store(url)) as store:
        gone = store.runs / "20260101-000000-abcd" / "001"
    outbox.enqueue([_entry_of(gone, "gone")], home)

    with closing(open_store(url)) as store:
        assert "could not be sent" in store.problems[0]
    (entry,) = outbox.entries(home)
    assert entry.reason == f"{gone} no longer exists."
