"""The store in PostgreSQL: broken connections, older tables, other machines, and no password."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from assay.core.errors import StoreError, UsageError
from assay.core.findings import Summary
from assay.core.records import Plan, Query
from assay.core.registry import open_store
from assay.stores import _pg_tables as tables
from assay.stores.runs import lock_run
from tests.postgres import PASSWORD, Cutter
from tests.stores.test_sqlite import CASE, SECOND, result, stored

pytestmark = pytest.mark.real("postgresql", "psycopg")


@pytest.mark.parametrize("heard", [False, True], ids=["before the commit", "after the commit"])
def test_a_connection_cut_in_the_middle_of_an_append_loses_nothing(postgres, database, heard):
    with closing(open_store(database)) as store:
        (first,) = stored(store)
    cutter = Cutter(postgres.port, b"COMMIT", heard)
    url = postgres.with_password.replace(str(postgres.port), str(cutter.port))

    with closing(open_store(url)) as store:
        more = result(first.run, 2)
        store.append(more)
        found = list(store.results(Query()))
    cutter.close()

    assert cutter.cuts == 1
    assert found == [first, more]
    assert postgres.execute("SELECT count(*) FROM assay.results") == [(2,)]


def test_a_store_goes_on_after_the_server_ended_its_connection(postgres, database):
    with closing(open_store(database)) as store:
        stored(store)
        postgres.cut()

        assert store.count(Query()) == 1
        stored(store)
        assert store.count(Query()) == 2


def test_tables_of_the_version_before_are_brought_to_todays(postgres, database):
    with closing(open_store(database)) as store:
        made = stored(store, 3)
    postgres.execute(
        "DROP TABLE assay.tallies; DROP FUNCTION assay.point_kept, assay.point_gone CASCADE; "
        "DELETE FROM assay.versions WHERE version = 2; "
        "INSERT INTO assay.metrics (name, unit) VALUES ('step_time', 's'); "
        "INSERT INTO assay.points SELECT series, 1, number, 1.0, 0.9, 1.1 FROM assay.results"
    )

    with closing(open_store(database)) as store:
        assert list(store.results(Query())) == made
        (series,) = store.series(Query())
        store.keep_summary(made[0].id, 1, Summary(quantities={"step_time": SECOND}))
        (again,) = store.series(Query())

    assert (series.count, series.first[:10], series.last[:10]) == (3, "2026-01-01", "2026-01-03")
    assert again == series
    assert postgres.execute("SELECT version FROM assay.versions ORDER BY 1") == [(1,), (2,)]


def test_tables_of_a_newer_version_are_left_as_they_are(postgres, database):
    open_store(database).close()
    postgres.execute(f"INSERT INTO assay.versions VALUES ({tables.VERSION + 1})")

    with pytest.raises(StoreError, match="but this assay knows up to 2") as caught:
        open_store(database)
    assert "Upgrade assay" in caught.value.hint


def test_another_machine_gets_plan_logs_and_documents(database, tmp_path, monkeypatch):
    with closing(open_store(database)) as store:
        run = store.new_run(Plan(cases=(CASE,)))
        made = result(run.name)
        (run / "001" / "inner").mkdir(parents=True)
        (run / "001" / "worker.log").write_bytes(b"printed\n")
        (run / "001" / "inner" / "trace").write_bytes(bytes(range(256)) * 40_000)  # several pieces
        (run / "001" / "empty").touch()
        store.append(made)
        store.keep_document(run.name, "race.json", b"{}")
        assert sorted(store.sizes(made.id))[:2] == [0, 8]
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "another-machine"))

    with closing(open_store(database)) as store:
        folder = store.folder(run.name)

    assert folder.is_relative_to(tmp_path / "another-machine")
    assert folder != run
    assert _files(folder) == _files(run) | {"race.json": b"{}"}


def test_logs_can_go_to_an_object_store(postgres, database, tmp_path, monkeypatch):
    url = f"{database}&files=file://{tmp_path}/bucket"
    with closing(open_store(url)) as store:
        run = store.new_run(Plan(cases=(CASE,)))
        (run / "001").mkdir()
        (run / "001" / "worker.log").write_bytes(b"printed\n")
        store.append(result(run.name))
    assert (tmp_path / "bucket" / run.name / "001" / "worker.log").read_bytes() == b"printed\n"
    assert postgres.execute("SELECT path FROM assay.files WHERE data IS NULL") == [
        ("001/worker.log",)
    ]
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "another-machine"))

    with closing(open_store(url)) as store:
        assert (store.folder(f"{run.name}/001") / "worker.log").read_bytes() == b"printed\n"
    (tmp_path / "another-machine").rename(tmp_path / "gone")
    does_not = pytest.raises(StoreError, match="object store that is missing in the URL")
    with closing(open_store(database)) as store, does_not:
        store.folder(run.name)
    with closing(open_store(url)) as store:
        store.delete("last")
    assert not list((tmp_path / "bucket").rglob("*.log"))


@pytest.mark.parametrize("place", ["nothing://x", "folder\0"])
def test_an_object_store_that_cannot_be_used_is_said(database, place):
    with closing(open_store(f"{database}&files={place}")) as store:
        run = store.new_run(Plan(cases=(CASE,)))
        (run / "001").mkdir()
        (run / "001" / "worker.log").touch()
        with pytest.raises(StoreError, match=r"object store .* cannot be used"):
            store.append(result(run.name))


def test_a_run_is_measured_by_one_machine_at_a_time(postgres, database):
    with closing(open_store(database)) as one, closing(open_store(database)) as other:
        run = stored(one)[0].run
        with lock_run(one, run):
            postgres.cut()
            one.count(Query())  # connects again, and holds the lock again
            refused = pytest.raises(UsageError, match="being measured by another assay")
            with refused, lock_run(other, run):
                pass
        with lock_run(other, run):
            pass


def test_a_file_whose_name_leads_out_of_the_run_is_not_written(postgres, database, tmp_path):
    with closing(open_store(database)) as store:
        run = stored(store)[0].run
        postgres.execute(
            f"INSERT INTO assay.files VALUES ('{run}', '001/../../../../out', 0, 1, 'x'), "
            f"('{run}', '{tmp_path}/out', 0, 1, 'x')"
        )
        store.folder(run)

    assert not list(tmp_path.rglob("out"))


def _files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.parametrize(
    ("url", "kind", "words"),
    [
        ("postgresql://127.0.0.1:1/assay", StoreError, "cannot be used"),
        ("postgresql://me:{password}@127.0.0.1:1/assay", StoreError, "cannot be used"),
        (
            "postgresql://me:{password}@127.0.0.1:none/assay",
            UsageError,
            "is not the location of a database",
        ),
        (
            "postgresql://me:%zz{password}@host/assay",
            UsageError,
            "is not the location of a database",
        ),
        ("postgresql://host/db?password={password}&nonsense=1", UsageError, "is not the location"),
        ("{elsewhere}", StoreError, "does not exist"),
        ("{wrong}", StoreError, "password authentication failed"),
        ("postgresq://host/assay", UsageError, "There is no store named 'postgresq'"),
    ],
)
def test_a_place_that_cannot_be_used_is_said_without_its_password(postgres, url, kind, words):
    given = url.format(
        password=PASSWORD,
        elsewhere=postgres.url.replace("/assay?", "/nowhere?"),
        wrong=postgres.with_password.replace("tester", "nobody"),
    )

    with pytest.raises(kind, match=words) as caught:
        open_store(given)

    assert PASSWORD not in f"{caught.value} {caught.value.hint} {caught.value.__cause__}"


def test_who_may_not_make_tables_is_told_what_to_ask_for(postgres, database):
    postgres.execute("DROP ROLE IF EXISTS reader")
    postgres.execute("CREATE ROLE reader LOGIN")
    url = database.replace("tester", "reader")
    with pytest.raises(StoreError, match="permission denied") as caught:
        open_store(url)
    assert "GRANT CREATE" in caught.value.hint

    with closing(open_store(database)) as store:
        (made,) = stored(store)
    postgres.execute(
        "GRANT USAGE ON SCHEMA assay TO reader; "
        "GRANT SELECT ON ALL TABLES IN SCHEMA assay TO reader"
    )
    with closing(open_store(url)) as store:
        assert list(store.results(Query())) == [made]
        with pytest.raises(StoreError, match="permission denied"):
            store.append(result(made.run, 2))
    postgres.execute("DROP OWNED BY reader")
